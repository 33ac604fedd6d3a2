# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Traces in S3: moto's server on the loopback device speaks its protocol, and s3fs is told of it as it is of any other, by the environment."""

import urllib.request
from pathlib import Path

import pytest

import fovea

boto3 = pytest.importorskip("boto3", reason="boto3 is not installed; pip install 'moto[server]'")
moto_server = pytest.importorskip("moto.server", reason="moto's server is not installed; pip install 'moto[server]'")
s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed; pip install s3fs")

BUCKET = "traces"


@pytest.fixture
def s3(tmp_path, monkeypatch):
    """A bucket, as a client of its own sees it, which s3fs knows nothing of."""
    server = moto_server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    # What an earlier server of this process held.
    urllib.request.urlopen(f"{address}/moto-api/reset", data=b"")
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "XDG_CACHE_HOME": tmp_path / "cache",
        "AWS_ENDPOINT_URL": address,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "something",
        # Nobody's own settings, and none of a cloud's.
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "1",
    }.items():
        monkeypatch.setenv(name, str(value))
    s3fs.S3FileSystem.clear_instance_cache()
    client = boto3.client("s3")
    client.create_bucket(Bucket=BUCKET)
    yield client
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


def put(client, name, path):
    client.put_object(Bucket=BUCKET, Key=name, Body=Path(path).read_bytes())
    return f"s3://{BUCKET}/{name}"


def one_line(call):
    with pytest.raises(fovea.Error) as error:
        call()
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_sweep_of_traces_in_s3_is_that_of_the_files(s3, git, sqlite, tmp_path):
    urls = [put(s3, "day 1/git.parquet", git), put(s3, "sqlite.parquet", sqlite)]
    fovea.sweep(urls, "lru,sieve", "1%,10%", tmp_path / "there")
    fovea.sweep([git, sqlite], "lru,sieve", "1%,10%", tmp_path / "here")
    for suffix in (".json", ".parquet"):
        assert (tmp_path / f"there{suffix}").read_bytes() == (tmp_path / f"here{suffix}").read_bytes()
    assert fovea.replay(urls[0], "lru", "10%").rows == fovea.replay(git, "lru", "10%").rows
    assert fovea.mrc(urls[0], sizes="10%").rows == fovea.mrc(git, sizes="10%").rows


def test_what_changed_is_fetched_again_though_s3fs_had_listed_it(s3, git, sqlite):
    url = put(s3, "t.parquet", git)
    requests = [fovea.replay(trace, "lru", "10%").rows[0]["requests"] for trace in (git, sqlite)]
    assert s3fs.S3FileSystem().ls(BUCKET) == [f"{BUCKET}/t.parquet"], "and now it holds a listing"
    assert fovea.replay(url, "lru", "10%").rows[0]["requests"] == requests[0]
    put(s3, "t.parquet", sqlite)
    assert fovea.replay(url, "lru", "10%").rows[0]["requests"] == requests[1]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (f"s3://{BUCKET}/none.parquet", f"s3://{BUCKET}/none.parquet: no such file; check the address"),
        ("s3://nobody-s/t.parquet", "s3://nobody-s/t.parquet: no such file; check the address"),
        ("s3://t.parquet", "s3://t.parquet: "),
        ("s3://", "s3://: "),
    ],
)
def test_what_is_not_there_is_told(s3, git, url, said):
    put(s3, "t.parquet", git)
    for call in (lambda: fovea.sweep([url], "lru", "10"), lambda: fovea.replay(url, "lru", "10")):
        assert one_line(call).startswith(said)


def test_wrong_credentials_are_told(s3, git, monkeypatch):
    from moto.core import enable_iam_authentication

    url, users = put(s3, "git.parquet", git), boto3.client("iam")
    users.create_user(UserName="reader")
    reads = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}'
    users.put_user_policy(UserName="reader", PolicyName="reads", PolicyDocument=reads)
    key = users.create_access_key(UserName="reader")["AccessKey"]

    def sweep(name, secret):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", name)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
        s3fs.S3FileSystem.clear_instance_cache()
        return fovea.sweep([url], "lru", "10%").rows

    # From here on the server looks at who asks.
    with enable_iam_authentication():
        assert sweep(key["AccessKeyId"], key["SecretAccessKey"]) == fovea.sweep([git], "lru", "10%").rows
        for name, secret in (("nobody", key["SecretAccessKey"]), (key["AccessKeyId"], "something else")):
            assert one_line(lambda: sweep(name, secret)).startswith(f"{url}: Forbidden; ")


def test_no_credentials_are_told(s3, git, monkeypatch):
    url = put(s3, "t.parquet", git)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    s3fs.S3FileSystem.clear_instance_cache()
    assert one_line(lambda: fovea.sweep([url], "lru", "10")).startswith(f"{url}: Unable to locate credentials; ")


def test_a_server_that_is_not_there_is_told(s3, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    s3fs.S3FileSystem.clear_instance_cache()
    said = one_line(lambda: fovea.sweep([f"s3://{BUCKET}/t.parquet"], "lru", "10"))
    assert said.startswith(f's3://{BUCKET}/t.parquet: Could not connect to the endpoint URL: "http://127.0.0.1:9/')
