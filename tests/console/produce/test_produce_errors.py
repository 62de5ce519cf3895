"""Each refusal of kipwire produce is one line, and names what is written up to then."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_messages.enums import ApiKey, ErrorCode
from kipwire.console.app import app
from kipwire.testing import FakeBroker
from tests.console.produce.conftest import Kipwire
from tests.support.subjects.scripted_broker import unused_address


def changed(lines: str, number: int, **values: object) -> str:
    split = lines.splitlines()
    split[number - 1] = json.dumps(json.loads(split[number - 1]) | values)
    return "\n".join(split)


def test_wrong_lines_are_found_before_anything_is_written(broker: FakeBroker, kipwire: Kipwire, lines: str) -> None:
    last = len(lines.splitlines())
    cases = {
        lines + '{"type": "rec': f"standard input:{last + 1}: not JSON: ",
        changed(lines, last, value=5): f'standard input:{last}: "value" must be a string',
        lines.replace('"topic":"orders","partition":1', '"topic":"paid","partition":1'): (
            "\"topic\" is 'paid', and of the lines before 'orders'; dump and write one topic after the other"
        ),
        lines + lines: f'standard input:{last + 1}: "base_offset" 0 is not above 11, where the batch of ',
        lines.replace('"partition":1', '"partition":2'): (
            "the records are of partition 2, and copy has 2 partitions; give --by-key, --partition N, or a topic with "
        ),
        lines.replace('"topic":"orders","partition":1', '"topic":null,"partition":null').replace(
            '"topic":"orders","partition":0', '"topic":null,"partition":null'
        ): "is not above",
        "": "standard input: contains no batches; give the lines of kipwire dump --records --format json",
        lines.splitlines()[0]: "standard input: contains no records; dump with --records",
    }
    for text, error in cases.items():
        done = kipwire("produce", "--brokers", broker.bootstrap_servers, "copy", stdin=text)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert error in done.stderr
    assert not broker.records("copy")


def test_a_missing_topic_is_named_with_the_command_that_makes_it(
    broker: FakeBroker, kipwire: Kipwire, lines: str
) -> None:
    address = broker.bootstrap_servers.split(",")[0]
    done = kipwire("produce", "--brokers", address, "coyp", stdin=lines)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    said, _, make = done.stderr.strip().partition("; make it: kipwire ")
    assert said.endswith("has no topic 'coyp': 3 UNKNOWN_TOPIC_OR_PARTITION; did you mean copy?")
    words = make.split(" ", 3)
    assert kipwire(*words[:3], words[3].strip("'")).returncode == 0
    assert broker.topics()["coyp"] == 2


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("one", "--partition", "1"), "there is no partition 1: one has 1 partition"),
        (("one", "--partition", "0", "--by-key"), "--partition cannot be used with --by-key"),
        (("copy", "absent"), "absent: No such file or directory"),
        (("copy", "--state", "no/state"), "no/state.lock: the folder no does not exist"),
        (("copy", "--state", "wrong"), "wrong: is not a state that kipwire produce has written; give the name of a"),
    ],
)
def test_wrong_options_are_one_line(
    arguments: tuple[str, ...], error: str, broker: FakeBroker, kipwire: Kipwire, lines: str, tmp_path: Path
) -> None:
    (tmp_path / "wrong").write_text('{"kipwire_produce": 1}')
    done = kipwire("produce", "--brokers", broker.bootstrap_servers, *arguments, stdin=lines)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert error in done.stderr
    assert not broker.records("copy")


def test_a_state_is_of_one_topic(broker: FakeBroker, kipwire: Kipwire, lines: str) -> None:
    to = ("produce", "--brokers", broker.bootstrap_servers, "--state", "state")
    assert kipwire(*to, "copy", stdin=lines).returncode == 0
    done = kipwire(*to, "three", stdin=lines)
    assert (
        done.stderr
        == "kipwire: state: the runs of this state had topic copy, this one has three; give another --state\n"
    )
    done = kipwire(*to, "copy", stdin=lines.splitlines()[0] + "\n" + lines.splitlines()[1])
    assert "state: the first 7 records of copy partition 0 are not those that" in done.stderr


def test_errors_in_the_dump_are_counted(broker: FakeBroker, kipwire: Kipwire, lines: str) -> None:
    error = '{"type":"error","file":"x","position":5,"at":5,"path":"","reason":"no"}\n'
    done = kipwire("produce", "--brokers", broker.bootstrap_servers, "copy", stdin=lines + error)
    assert (done.returncode, len(broker.records("copy"))) == (1, 11)
    assert done.stderr == "error: 1 error in the dump; the batches that could not be read are left out\n"


def test_a_refusal_and_a_silent_cluster_are_one_line(broker: FakeBroker, kipwire: Kipwire, lines: str) -> None:
    broker.fail(ApiKey.PRODUCE, ErrorCode.TOPIC_AUTHORIZATION_FAILED, times=None)
    done = kipwire("produce", "--brokers", broker.bootstrap_servers, "copy", stdin=lines)
    assert done.stderr.splitlines() == [
        "copy: 0 records written",
        "kipwire: copy partition 0: the leader returned 29 TOPIC_AUTHORIZATION_FAILED: 7 records from standard "
        "input:1, offset 0 on",
    ]
    broker.fail(ApiKey.INIT_PRODUCER_ID, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    done = kipwire("produce", "--brokers", broker.bootstrap_servers, "copy", stdin=lines)
    assert done.stderr.endswith("the broker gives no producer id: 31 CLUSTER_AUTHORIZATION_FAILED\n")
    done = kipwire("produce", "--brokers", unused_address(), "copy", stdin=lines)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


@pytest.mark.night
def test_a_closed_pipe_and_ctrl_c_say_what_is_written(
    broker: FakeBroker, kipwire: Kipwire, lines: str, tmp_path: Path
) -> None:
    (tmp_path / "lines").write_text(lines)
    words = [sys.executable, "-m", "kipwire", "produce", "--brokers", broker.bootstrap_servers, "copy", "lines"]
    read, write = os.pipe()
    os.close(read)
    closed = subprocess.run([*words, "-f", "json"], cwd=tmp_path, stdout=write, stderr=-1, text=True, check=False)
    os.close(write)
    assert closed.returncode == 1
    assert "records written\n" in closed.stderr
    broker.delay(ApiKey.PRODUCE, 30, times=None)
    with subprocess.Popen(words, cwd=tmp_path, stdout=-1, stderr=-1, text=True) as process:
        broker.wait_until(lambda: len(broker.requests(ApiKey.PRODUCE)) > 2, 60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err == "copy: 0 records written\n11 records more may be written: no answer came\nkipwire: interrupted\n"


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("topics", """kipwire call BROKERS Metadata '{"topics": null}'"""),
        ("groups", "'kipwire offsets --brokers BROKERS'"),
        ("lag", "'kipwire offsets --brokers BROKERS'"),
        ("consume", "'kipwire dump --brokers BROKERS --records TOPIC'"),
    ],
)
def test_an_everyday_verb_is_answered_with_the_command_that_does_it(name: str, command: str) -> None:
    done = CliRunner().invoke(app, [name, "--brokers", "x"], prog_name="kipwire")
    assert done.exit_code == 2
    assert done.stderr.endswith(f"Error: No such command '{name}'. Did you mean {command}?\n")
