// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Tables that researchers bring: what is read of them, and what is refused instead of guessed.

use fovea_lab::import::{self, parse_bytes, ImportOptions, Order};
use fovea_lab::{Op, Record};
use proptest::prelude::*;

fn options(csv: &str) -> ImportOptions {
    ImportOptions { order: Order::Keep, csv: csv.parse().unwrap(), ..ImportOptions::default() }
}

fn read_as(csv: &str, text: &str) -> Vec<Record> {
    parse_bytes("csv".parse().unwrap(), text.as_bytes(), &options(csv)).unwrap_or_else(|e| panic!("{text}: {e}")).0
}

fn read(text: &str) -> Vec<Record> {
    read_as("", text)
}

/// Time in ns, object, size.
fn objects(records: &[Record]) -> Vec<(u64, u64, u64)> {
    records.iter().map(|r| (r.time_ns, r.object, r.size_bytes.unwrap())).collect()
}

fn refusal_as(csv: &str, text: &str) -> String {
    let read = parse_bytes("csv".parse().unwrap(), text.as_bytes(), &options(csv));
    let error = match read {
        Ok((records, _)) => panic!("{text:?} is read as {:?}", objects(&records)),
        Err(error) => error.to_string(),
    };
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

fn refusal(text: &str) -> String {
    refusal_as("", text)
}

/// The first three requests of every table of objects here.
const EXPECTED: [(u64, u64, u64); 3] = [(1_000_000_000, 17, 512), (2_000_000_000, 18, 4096), (2_000_000_000, 17, 512)];

#[test]
fn columns_go_by_the_headers_names_in_any_order() {
    for text in [
        "time_s,id,size\n1,17,512\n2,18,4096\n2,17,512\n",
        "time_s,size,id\n1,512,17\n2,4096,18\n2,512,17\n",
        "Object ID;Size (bytes);Time (s)\n17;512;1\n18;4096;2\n17;512;2\n",
        "obj_id\tobj_size\tts_sec\n17\t512\t1\n18\t4096\t2\n17\t512\t2\n",
        "\"key\",\"value_size\",\"timestamp_ms\"\r\n\"17\",\"512\",\"1000\"\r\n\"18\",\"4096\",\"2000\"\r\n\"17\",\"512\",\"2000\"\r\n",
        "# id size time_us\n17 512 1000000\n18 4096 2000000\n17 512 2000000\n",
        "# made by a script\n#\ntime_ns|id|bytes\n1000000000|17|512\n2000000000|18|4096\n2000000000|17|512\n",
        // libCacheSim's own.
        "time, object, size, next_access_vtime\n1, 17, 512, 3\n2, 18, 4096, -1\n2, 17, 512, -1\n",
    ] {
        assert_eq!(objects(&read(text)), EXPECTED, "{text}");
    }
}

#[test]
fn pandas_index_is_no_object() {
    // `df.to_csv("x.csv")`: the index counts rows, and stood where the time was looked for.
    let text = ",time_s,id,size\n0,1,17,512\n1,2,18,4096\n2,2,17,512\n";
    assert_eq!(objects(&read(text)), EXPECTED);
    assert_eq!(objects(&read(&text.replacen(',', "Unnamed: 0,", 1))), EXPECTED, "read and written again");
    // Written of columns without names, or with an index that may be a time.
    assert!(refusal(",0,1,2\n0,1,17,512\n1,2,18,4096\n").contains("the header names no column"));
    let indexed = refusal(",id,size\n5,17,512\n9,18,4096\n");
    assert!(indexed.contains("it may be the time or an index") && indexed.contains("time=0"), "{indexed}");
    assert_eq!(objects(&read_as("time=1,time-unit=s", ",id,size\n1,17,512\n2,18,4096\n2,17,512\n")), EXPECTED);
}

#[test]
fn rows_without_names_are_refused_with_the_ways_to_read_them() {
    for (text, ways) in [
        ("1,17,512\n2,18,4096\n2,17,512\n", ["id=2,size=3,time=1,time-unit=s", "id=3,size=2,time=1,time-unit=s"]),
        ("17,512,1\n18,4096,2\n17,512,2\n", ["id=1,size=2,time=3,time-unit=s", "id=1,size=2,time=0"]),
        ("17,512\n18,4096\n17,512\n", ["id=1,size=2,time=0", ""]),
        ("1 17\n2 18\n", ["id=2,time=1,time-unit=s", "id=1,size=2,time=0"]),
    ] {
        let error = refusal(text);
        assert!(error.contains("columns without names"), "{error}");
        assert!(ways.iter().all(|way| error.contains(way)), "{ways:?} not in: {error}");
    }
    // Every way that is offered works as it is written.
    let error = refusal("1,17,512\n2,18,4096\n2,17,512\n");
    let ways: Vec<&str> = error.split("--csv ").skip(1).map(|way| way.split(' ').next().unwrap()).collect();
    assert!(ways.len() >= 2, "{error}");
    assert_eq!(objects(&read_as(ways[0], "1,17,512\n2,18,4096\n2,17,512\n")), EXPECTED);
    ways.iter().for_each(|way| drop(read_as(way, "1,17,512\n2,18,4096\n2,17,512\n")));
}

#[test]
fn headers_that_may_mean_several_things_are_refused() {
    for (text, says) in [
        ("key,url,size\n1,2,3\n", "the id may be in several columns: \"key\", \"url\""),
        ("id,size,object_size\n1,2,3\n", "the size may be in several columns"),
        ("id,time_s,date\n1,2,2024-01-01\n", "the time may be in several columns"),
        ("a,b,c\n1,2,3\n", "no column is called as ids are (a, b, c)"),
        ("id,offset,size\n1,2,3\n", "objects (\"id\") or for places on a disk (\"offset\")"),
        ("time,id,size\n1,2,3\n", "of no unit"),
        ("alpha,beta\ngamma,delta\n", "may be names or a request"),
        ("1;2,3\n4;5,6\n", "parted in several ways"),
        ("op,key\nGET,1\nEVICT,2\n", "operation \"EVICT\" in \"op\" is not known"),
        ("obj,sz\n1,2\n", "no column is called as sizes are, but it may be \"sz\""),
        ("obj,ttl,sz\n1,2,3\n", "it may be \"ttl\" or \"sz\""),
    ] {
        let error = refusal(text);
        assert!(error.contains(says), "{text}: {error}");
        assert!(error.contains("--csv "), "no way out: {error}");
    }
    assert_eq!(objects(&read_as("id=url", "key,url,size\n1,2,3\n")), [(2, 2, 3)]);
    assert_eq!(objects(&read_as("delimiter=semicolon,id=1,header=no", "1;2,3\n4;5,6\n"))[1].1, 4);
    assert_eq!(read_as("op=0", "op,key\nGET,1\nEVICT,2\n").len(), 2);
    assert_eq!(objects(&read_as("size=0", "obj,sz\n1,2\n")), [(2, 1, 1)]);
    // What a column is called `type` for is not known, and nothing hangs on it.
    assert_eq!(read("key,type\n1,image\n2,text\n").len(), 2);
    assert!(refusal_as("id=nobody", "id,size\n1,2\n").contains("the header does not name; it names id, size"));
    assert!(refusal_as("id=3", "id,size\n1,2\n").contains("rows have 2"));
    assert!(refusal_as("id=key", "1,2\n1,2\n").contains("there is no header"));
}

#[test]
fn units_of_time_are_said_named_or_certain() {
    let second = 1_600_000_000u64;
    let ns = second * 1_000_000_000;
    for (header, value) in [
        ("timestamp", "1600000000"),
        ("timestamp", "1600000000000"),
        ("unix_time", "1600000000000000"),
        ("ts", "1600000000000000000"),
        ("time", "2020-09-13 12:26:40"),
        ("date", "2020-09-13T14:26:40+02:00"),
        ("time_us", "1600000000000000"),
        ("timestamp", "1.6e9"),
    ] {
        assert_eq!(read(&format!("{header},id\n{value},7\n"))[0].time_ns, ns, "{header} {value}");
    }
    for (unit, value) in
        [("s", "1600000000"), ("ms", "1600000000000"), ("us", "1.6e15"), ("filetime", "16000000000000000")]
    {
        let csv = format!("id=2,time=1,time-unit={unit}");
        assert_eq!(read_as(&csv, &format!("{value},7\n{value},8\n"))[0].time_ns, ns, "{unit}");
    }
    // The time since a boot may look like one since 1970 in another unit.
    for (header, value) in [("ts", "1600000000000000"), ("time", "5"), ("time", "0.5"), ("timestamp", "1700")] {
        let error = refusal(&format!("{header},id\n{value},7\n"));
        assert!(error.contains("time-unit=s") && error.contains("time-unit=ns") && error.contains("time=0"), "{error}");
    }
    assert_eq!(read_as("time=0", "time,id\n5,7\n")[0].time_ns, 2, "the line's number");
}

#[test]
fn numbers_are_read_as_they_are_written() {
    let text = "time_s,id,size\n-2.5,17,512.0\n-1,18,1e3\n+1,17,5.12e2\n";
    let records = read(text);
    assert_eq!(
        objects(&records),
        [(0, 17, 512), (1_500_000_000, 18, 1000), (3_500_000_000, 17, 512)],
        "times are later by what the first lacks to 0"
    );
    for (bad, says) in [
        ("1,17,512.5", "size is \"512.5\", not a whole number"),
        ("1,17,-1", "not within 0 and 2^64"),
        ("1,,512", "no object id"),
        ("x,17,512", "time is \"x\""),
        ("1,17", "2 columns, where the first row has 3"),
        ("1,17,512,9", "4 columns, where the first row has 3"),
        ("1,\"17,512", "a quote is open"),
        ("1,1.2345678901234567e+18,512", "a float, which may stand for several ids"),
    ] {
        let rows = "1,17,512\n".repeat(20);
        let error = refusal(&format!("time_s,id,size\n{rows}{bad}\n"));
        assert!(error.starts_with("input: line 22: ") && error.contains(says), "{bad}: {error}");
        assert!(error.contains("--skip-bad"), "{error}");
    }
}

#[test]
fn spellings_of_ids_are_never_one_object() {
    for format in ["csv", "ids"] {
        let ids = ["7", "007", "+7", "key-a", "7", "key-a"];
        let text = match format {
            "csv" => format!("id,size\n{}", ids.map(|id| format!("{id},1\n")).concat()),
            _ => ids.map(|id| format!("{id}\n")).concat(),
        };
        let (records, _) = parse_bytes(format.parse().unwrap(), text.as_bytes(), &options("")).unwrap();
        let objects: Vec<_> = records.iter().map(|r| (r.space.clone(), r.object)).collect();
        assert_eq!(objects[0].1, 7);
        assert_eq!((&objects[0], &objects[3]), (&objects[4], &objects[5]));
        assert_eq!(objects.iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "{format}");
    }
    // The name of the only column is no object.
    let (records, tally) = parse_bytes("ids".parse().unwrap(), b"object id\n7\n8\n", &options("")).unwrap();
    assert_eq!((records.len(), tally.dropped["header lines"]), (2, 1));
}

#[test]
fn published_tables_are_read_as_they_are_meant() {
    // CacheLib: the operation was taken for the object. A row stands for `op_count` requests.
    let cachelib =
        "key,op,size,op_count,key_size\n17,GET,512,1,40\n18,SET,4096,1,40\n17,GET_LEASE,512,2,40\n19,DELETE,0,1,40\n";
    let records = read(cachelib);
    assert_eq!(
        objects(&records).iter().map(|o| (o.1, o.2)).collect::<Vec<_>>(),
        [(17, 512), (18, 4096), (17, 512), (17, 512)]
    );
    assert_eq!(records.iter().map(|r| r.write).collect::<Vec<_>>(), [false, true, false, false]);
    let newer = "op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase\n\
                 1,82131353f9ddc8c6,48,GET,1,87,1,0,3,3\n2,a54f88ab02ece24d,24,GET,1,5,0,0,6,6\n";
    let records = read(newer);
    assert_eq!(
        (records[0].time_ns, records[0].size_bytes, &*records[0].space),
        (1_000_000_000, Some(87), "object-text")
    );
    // Twitter: the key's size was taken. An object is as large as key and value.
    let twitter = "1,nz:u:eeW511W3,7,505,2,get,0\n2,17,7,4089,2,set,3600\n2,nz:u:eeW511W3,7,505,2,gets,0\n";
    let records = read(twitter);
    assert_eq!(
        records.iter().map(|r| (r.time_ns, r.size_bytes.unwrap())).collect::<Vec<_>>(),
        EXPECTED.map(|e| (e.0, e.2))
    );
    assert_eq!((records[0].object, records[1].write), (records[2].object, true));
    // Alibaba: the letters R and W were two objects.
    let alibaba = "419,W,8792731648,16384,1577808144360767\n725,R,59110326272,4096,1577808144360768\n";
    for (text, header) in
        [(alibaba.to_owned(), false), (format!("device_id,opcode,offset,length,timestamp\n{alibaba}"), true)]
    {
        let records = read(&text);
        let first = &records[0];
        assert_eq!((first.op, &*first.space, first.write), (Op::Block, "disk:419", true), "header {header}");
        assert_eq!(
            (first.offset_bytes, first.length_bytes, first.time_ns),
            (8_792_731_648, 16384, 1_577_808_144_360_767_000)
        );
        assert!(!records[1].write && records[1].sync);
    }
    // Tencent: in sectors; its rows have no header and could be others', so it is named.
    let tencent = "1538323200,12910952,128,0,1063\n1538323201,8,8,1,1064\n";
    let error = refusal(tencent);
    assert!(error.contains("table=tencent-block"), "{error}");
    let named = format!("Timestamp,Offset,Size,IOType,VolumeID\n{tencent}");
    for records in [read_as("table=tencent-block", tencent), read(&named), read_as("table=tencent-block", &named)] {
        let first = &records[0];
        assert_eq!((first.offset_bytes, first.length_bytes, &*first.space), (12_910_952 * 512, 128 * 512, "disk:1063"));
        assert_eq!((records.len(), records[1].write, first.time_ns), (2, true, 1_538_323_200_000_000_000));
    }
    let spc = read("0,20941264,8192,W,0.551706\n0,20939840,8192,r,0.554041\n");
    assert_eq!((spc[0].offset_bytes, spc[0].length_bytes, spc[0].time_ns), (20_941_264 * 512, 8192, 551_706_000));
    let photo = read("20160201000001 6bc3dc0a 5 m 4096 1 PHONE 0\n20160201000002 6bc3dc0b 5 m 512 1 PC 12\n");
    assert_eq!((photo[1].time_ns - photo[0].time_ns, photo[0].size_bytes), (1_000_000_000, Some(4096)));
    let wikimedia = "relative_unix\thashed_path_query\timage_type\tresponse_size\ttime_firstbyte\n\
                     1\t-17\tjpeg\t512\t0.001\n2\t18\tpng\t4096\t0.002\n2\t-17\tjpeg\t512\t0.001\n";
    let records = read(wikimedia);
    assert_eq!(
        records.iter().map(|r| (r.time_ns, r.size_bytes.unwrap())).collect::<Vec<_>>(),
        EXPECTED.map(|e| (e.0, e.2))
    );
    assert_eq!(records[0].object, records[2].object);
    let cdn = "timestamp,cacheKey,OpType,objectSize,responseSize\n1,17,1,512,9\n2,18,1,4096,9\n2,17,1,512,9\n";
    assert_eq!(objects(&read(cdn)), EXPECTED);
    let storage = "op_time,block_id,block_id_size,io_size,io_offset,user_name,user_namespace,op_name,op_count,host_name,rs_shard_id\n\
                   1,5,40,4096,8192,1,2,getChunkData.Permanent,1,3,0\n2,5,40,4096,0,1,2,putChunk.NotInitialized,1,3,0\n";
    let records = read(storage);
    assert_eq!(
        (records[0].object, records[0].offset_bytes, records[0].length_bytes, records[0].op),
        (5, 8192, 4096, Op::Block)
    );
    assert!(records[1].write && !records[0].write);
    let msr = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n128166372003061629,usr,0,Read,4096,512,1\n";
    assert_eq!((&*read(msr)[0].space, read(msr)[0].time_ns), ("disk:usr/0", 12_816_637_200_306_162_900));
}

#[test]
fn places_on_a_disk_have_a_unit() {
    let rows = |step: u64| (0..20u64).map(|at| format!("{at},R,{},{}\n", at * step, step)).collect::<String>();
    let head = "time_ms,op,offset,length\n";
    assert_eq!(read(&format!("{head}{}", rows(4096)))[1].offset_bytes, 4096, "all are multiples of a sector");
    let error = refusal(&format!("{head}{}", rows(8)));
    assert!(error.contains("block-unit=byte") && error.contains("block-unit=sector"), "{error}");
    assert_eq!(read_as("block-unit=sector", &format!("{head}{}", rows(8)))[1].offset_bytes, 4096);
    assert_eq!(read_as("block-unit=byte", &format!("{head}{}", rows(8)))[1].offset_bytes, 8);
    assert_eq!(read("sector,nr_sectors\n8,16\n")[0].length_bytes, 8192, "Linux's sectors are of 512 bytes");
}

#[test]
fn what_was_understood_is_told_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.csv"), folder.path().join("out"));
    let rows: String = (0..1200).map(|at| format!("{at},{},GET,{},x\n", at % 2, 100 + at % 3)).collect();
    std::fs::write(&input, format!("time_ms,key,op,size,ttl\n{rows}")).unwrap();
    let report = fovea_lab::import(&ImportOptions { input, output: output.clone(), ..options("") }, |_, _| {}).unwrap();
    assert_eq!(
        report.understood,
        "csv: comma, header; time: \"time_ms\" (column 1) in ms; object: \"key\" (column 2); size: \"size\" (column 4) in bytes; \
         operation: \"op\" (column 3); not read: \"ttl\" (column 5)"
    );
    let sanity = &report.sanity;
    assert_eq!((sanity.requests, sanity.objects, sanity.once_percent), (1200, 2, 0.0));
    assert_eq!((sanity.size_bytes, sanity.span_ns, sanity.write_percent), ([100, 101, 102], 1_199_000_000, 0.0));
    assert!(sanity.warnings()[0].contains("all requests are for 2 objects"));
    let notes = fovea_lab::store::Reader::open(&output).unwrap().notes();
    assert_eq!(notes["fovea.trace.understood"], report.understood);
    assert_eq!(serde_json::from_str::<import::Sanity>(&notes["fovea.trace.sanity"]).unwrap(), *sanity);
}

/// A Parquet file with a column of texts, one of sizes and one of times, as pandas writes it.
fn parquet_file(path: &std::path::Path, ids: &[&str]) {
    use parquet::basic::Compression;
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use parquet::file::{properties::WriterProperties, writer::SerializedFileWriter};
    let schema = "message schema { optional binary key (string); optional double size; optional int64 timestamp (timestamp(nanos,true)); }";
    let schema = std::sync::Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, properties.into()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let here = vec![1; ids.len()];
    let ids: Vec<ByteArray> = ids.iter().map(|id| ByteArray::from(*id)).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&ids, Some(&here), None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(&EXPECTED.map(|e| e.2 as f64)[..ids.len()], Some(&here), None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&EXPECTED.map(|e| e.0 as i64)[..ids.len()], Some(&here), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn parquet_files_of_others_are_tables() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.parquet"), folder.path().join("out"));
    parquet_file(&input, &["17", "a,\"b\"", "17"]);
    let report =
        fovea_lab::import(&ImportOptions { input: input.clone(), output: output.clone(), ..options("") }, |_, _| {})
            .unwrap();
    assert!(report.understood.contains("time: \"timestamp_ns\" (column 3) in ns"), "{}", report.understood);
    let records = fovea_lab::store::Reader::open(&output).unwrap().batch().unwrap().unwrap();
    let found: Vec<_> = records.iter().map(|r| (r.time_ns, r.size_bytes.unwrap())).collect();
    assert_eq!(found, EXPECTED.map(|e| (e.0, e.2)));
    assert_eq!((records[0].object, &*records[1].space, records[2].object), (17, "object-text", 17));
    // And replayed as they are.
    let dense = fovea_lab::dense::Dense::open(&input, &Default::default(), |_| {}).unwrap();
    assert_eq!((dense.requests(), dense.footprint().objects), (3, 2));
}

fn shuffled<T: Clone>(of: &[T], by: usize) -> Vec<T> {
    let (mut left, mut by, mut shuffled) = (of.to_vec(), by, Vec::new());
    while !left.is_empty() {
        shuffled.push(left.remove(by % left.len()));
        by /= left.len() + 1;
    }
    shuffled
}

proptest! {
    /// A table comes in as it was written, whatever its columns' order, names, delimiter and quotes.
    #[test]
    fn tables_round_trip(
        requests in prop::collection::vec((0..1_000_000u64, "[a-z0-9:+-]{1,9}", 0..1u64 << 40), 2..40),
        names in prop::sample::select(vec![["time_us", "id", "size"], ["Timestamp (us)", "Object ID", "Size Bytes"], ["ts_us", "cache key", "bytes"]]),
        delimiter in prop::sample::select(vec![",", "\t", ";", "|"]),
        order in 0..6usize,
        quotes in any::<bool>(),
        index in any::<bool>(),
    ) {
        let mut now = 0;
        let requests: Vec<_> = requests.into_iter().map(|(gap, id, size)| { now += gap; (now, id, size) }).collect();
        let quoted = |text: &str| if quotes { format!("\"{text}\"") } else { text.to_owned() };
        let line = |first: &str, fields: [String; 3]| {
            let fields = shuffled(&fields, order).iter().map(|field| quoted(field)).collect::<Vec<_>>().join(delimiter);
            if index { format!("{first}{delimiter}{fields}\n") } else { format!("{fields}\n") }
        };
        let mut text = line("", names.map(str::to_owned));
        for (at, (time, id, size)) in requests.iter().enumerate() {
            text += &line(&at.to_string(), [time.to_string(), id.clone(), size.to_string()]);
        }
        let records = read(&text);
        let found: Vec<_> = records.iter().map(|r| (r.time_ns / 1000, r.size_bytes.unwrap())).collect();
        prop_assert_eq!(found, requests.iter().map(|r| (r.0, r.2)).collect::<Vec<_>>());
        for (a, b) in records.iter().zip(&requests) {
            for (c, d) in records.iter().zip(&requests) {
                prop_assert_eq!((a.object, &a.space) == (c.object, &c.space), b.1 == d.1, "{} and {}", b.1, d.1);
            }
        }
    }
}
