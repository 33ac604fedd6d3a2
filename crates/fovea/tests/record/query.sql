-- A cache smaller than the database, so that the pages are asked of the kernel again and again.
pragma cache_size = 40;
select count(*) from notes where title like 'title 1%';
with recursive n(i) as (select 1 union all select i + 1 from n where i < 400)
  select sum(length(body)) from n join notes on notes.title = 'title ' || (n.i * 31 % 12007);
update notes set body = body || '!' where id % 400 = 0;
select count(*) from notes where body like '%!';
