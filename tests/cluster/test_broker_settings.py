"""Settings to reach brokers: options, client properties files and the environment; no text contains a secret."""

from __future__ import annotations

import io
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from kipwire.cluster.given import Certificates, Given, Sasl
from kipwire.cluster.properties import LARGEST_FILE, SettingsError, read_properties
from kipwire.cluster.settings import Settings
from kipwire.connection import OAuthBearer, Plain, Scram
from kipwire.connection.sasl import Mechanism
from kipwire.console.brokers.running import prepare
from kipwire.console.call.command import call
from tests.support.places import DATA

TLS = DATA / "tls"
SECRET = "hunter2;#= \\x"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., Settings]:
    """Settings with a properties file."""

    def made(text: str, **given: object) -> Settings:
        file = tmp_path / "client.properties"
        file.write_text(text, encoding="latin-1")
        return Settings(config=file, **given)  # type: ignore[arg-type]

    return made


# The form of the file.


@pytest.mark.parametrize(
    ("jaas", "options"),
    [
        (f'{PLAIN} required username="alice" password="a b";', {"username": "alice", "password": "a b"}),
        (f"{PLAIN} REQUIRED\n  username='alice'\n  password=bare ;", {"username": "alice", "password": "bare"}),
        (f'{PLAIN} required username = "a" password="x;y=\\"z\\"";', {"username": "a", "password": 'x;y="z"'}),
        (f"{PLAIN} required;", {}),
        (f'{PLAIN} required password="\\u0041\\q\\\\\\101\\477\\8\\v";', {"password": "u0041q\\A'78\v"}),
    ],
)
def test_a_login_is_read_as_java_reads_it(jaas: str, options: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "a.properties"
    escaped = jaas.replace("\\", "\\\\").replace("\n", "\\n")
    file.write_text(f"sasl.jaas.config={escaped}")
    login = read_properties(file).login()
    assert login is not None
    assert (login.module, login.options) == ("PlainLoginModule", options)


@pytest.mark.parametrize(
    "jaas",
    [
        f'{PLAIN} required username="{SECRET}"',
        f'{PLAIN} required username="{SECRET};',
        f'{PLAIN} maybe username="{SECRET}";',
        f'required username="{SECRET}";',
        f'{PLAIN} required username="a"; {SCRAM} required username="{SECRET}";',
        f'{PLAIN} required "{SECRET}";',
        SECRET,
    ],
)
def test_a_login_of_another_form_is_refused_without_its_text(jaas: str, config: Callable[..., Settings]) -> None:
    text = jaas.replace("\\", "\\\\")
    settings = config(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={text}")
    with pytest.raises(SettingsError) as error:
        _ = settings.security
    assert "sasl.jaas.config: " in str(error.value) and "PlainLoginModule required username" in str(error.value)
    assert "hunter2" not in str(error.value) and len(str(error.value).splitlines()) == 1


def test_a_hostile_login_is_refused_without_going_back_and_forth_in_it(config: Callable[..., Settings]) -> None:
    unclosed = "a required " + '"' + '\\\\"' * 50_000
    for text in (
        unclosed,
        "a required " + 'b="' * 20_000,
        "a required " + "b " * 20_000,
        '"' * 40_000,
        "a=b " * 10_000 + ";",
        " " * 40_000,
        "a required" + " " * 40_000 + "x;",
    ):
        settings = config(f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={text}")
        with pytest.raises(SettingsError):
            _ = settings.security


def test_an_escape_that_java_refuses_is_refused_without_its_text(config: Callable[..., Settings]) -> None:
    settings = config("a=1\nssl.key.password=hunter2\\u12\n")
    with pytest.raises(SettingsError, match=r"client\.properties:2: a \\u needs four hexadecimal") as error:
        _ = settings.security
    assert "hunter2" not in str(error.value)


# The mechanism and its secret.


def sasl_of(settings: Settings) -> Mechanism | None:
    return settings.security.sasl


def test_a_file_of_kafkas_tools_says_all(config: Callable[..., Settings]) -> None:
    plain = f'{PLAIN} required username="alice" password="a";'
    text = "security.protocol={}\nsasl.mechanism={}\nsasl.jaas.config={}\nbootstrap.servers=x\ngroup.id=y"
    assert sasl_of(config(text.format("SASL_PLAINTEXT", "PLAIN", plain))) == Plain("alice", "a")
    assert sasl_of(config(text.format("sasl_plaintext", "PLAIN", plain))) == Plain("alice", "a")
    assert sasl_of(config(text.format("PLAINTEXT", "PLAIN", plain))) is None
    scram = f'{SCRAM} required username="alice" password="a";'
    assert sasl_of(config(text.format("SASL_SSL", "SCRAM-SHA-256", scram))) == Scram("alice", "a", "SCRAM-SHA-256")
    delegated = f'{SCRAM} required username="id" password="a" tokenauth="true";'
    expected = Scram("id", "a", "SCRAM-SHA-512", is_delegation_token=True)
    assert sasl_of(config(text.format("SASL_SSL", "SCRAM-SHA-512", delegated))) == expected


def test_properties_that_count_for_kafkas_tools_alone_are_named(
    config: Callable[..., Settings], caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "ssl.cipher.suites=X\nsasl.kerberos.service.name=kafka\nssl.truststore.password=x\nacks=1"
    handler = "sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer.{}"
    settings = config(f"{text}\n{handler.format('OAuthBearerLoginCallbackHandler')}")
    assert settings.security == settings.security
    said = f"{settings.config}: ignored settings: sasl.kerberos.service.name, ssl.cipher.suites"
    assert caplog.messages == [said]
    prepare(config(handler.format("Mine")))  # as commands do, which print it
    expected = f"kipwire: {settings.config}: ignored settings: sasl.login.callback.handler.class\n"
    assert capsys.readouterr().err == expected


def test_an_option_wins_over_the_environment_and_that_over_the_file(
    config: Callable[..., Settings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        f'security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} required username="alice" '
    )
    text += 'password="of file";'
    assert sasl_of(config(text)) == Plain("alice", "of file")
    monkeypatch.setenv("KIPWIRE_PASSWORD", "of environment")
    assert sasl_of(config(text)) == Plain("alice", "of environment")
    secret = tmp_path / "secret"
    secret.write_text("of option\nanother line\n")
    assert sasl_of(config(text, login=Given(password_file=secret))) == Plain("alice", "of option")
    assert sasl_of(config(text, login=Given(Sasl.SCRAM_SHA_256, "bob", secret))) == Scram(
        "bob", "of option", "SCRAM-SHA-256"
    )
    assert config(text, tls=True).security.tls is not None


def test_the_password_of_another_user_is_not_taken_from_the_file(config: Callable[..., Settings]) -> None:
    text = (
        f'security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} required username="alice" '
    )
    with pytest.raises(SettingsError, match="the password of bob is missing; use --password-file"):
        _ = config(f'{text} password="a";', login=Given(user="bob")).security


def test_tokens_come_from_a_file_a_variable_a_command_or_claims(
    config: Callable[..., Settings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def token(text: str = "", **given: object) -> str:
        mechanism = sasl_of(config(text, login=Given(Sasl.OAUTHBEARER, **given)))  # type: ignore[arg-type]
        assert isinstance(mechanism, OAuthBearer)
        return mechanism.token()

    file = tmp_path / "token"
    file.write_text("from.a.file\n")
    assert token(token_file=file) == "from.a.file"
    assert token(f"sasl.oauthbearer.token.endpoint.url=file://{file}") == "from.a.file"
    assert token(token_command="echo from.a.command") == "from.a.command"
    claims = token(
        f'sasl.jaas.config={OAUTH} required unsecuredLoginStringClaim_sub="alice" unsecuredLoginNumberClaim_x=1;'
    )
    assert claims.startswith("eyJhbGciOiAibm9uZSJ9.") and claims.endswith(".")
    monkeypatch.setenv("KIPWIRE_TOKEN", "from.the.environment")
    assert token() == "from.the.environment"
    monkeypatch.delenv("KIPWIRE_TOKEN")
    with pytest.raises(SettingsError, match="OAUTHBEARER needs a token; use --token-file FILE, --token-command"):
        token()
    with pytest.raises(SettingsError, match="only a file: URL is supported; fetch the token with --token-command"):
        token("sasl.oauthbearer.token.endpoint.url=https://example.com/token")
    for command, reason in (("echo hunter2; exit 3", "exit status 3"), ("true # hunter2", "printed nothing")):
        with pytest.raises(SettingsError, match=reason) as error:
            token(token_command=command)
        assert "hunter2" not in str(error.value)
    extended = f'sasl.jaas.config={OAUTH} required unsecuredLoginStringClaim_sub="a" extension_team="b";'
    mechanism = sasl_of(config(extended, login=Given(Sasl.OAUTHBEARER)))
    assert isinstance(mechanism, OAuthBearer) and mechanism.extensions == {"team": "b"}


@pytest.mark.parametrize(
    ("text", "given", "reason"),
    [
        ("security.protocol=SASL", Given(), "unknown protocol 'SASL'; did you mean SSL.; give one"),
        (
            "security.protocol=SASL_SSL",
            Given(),
            "sasl.mechanism: GSSAPI is not supported; use one of PLAIN, SCRAM-SHA-256",
        ),
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAN", Given(), "PLAN is not supported; .* did you mean PLAIN"),
        ("", Given(user="alice"), "needs --sasl MECHANISM"),
        ("", Given(Sasl.PLAIN), "SASL PLAIN needs a user: use --user NAME"),
        (f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={SCRAM} required;", Given(),
         "ScramLoginModule cannot be used with PLAIN; use PlainLoginModule"),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit_say_what_would(
    text: str, given: Given, reason: str, config: Callable[..., Settings]
) -> None:
    with pytest.raises(SettingsError, match=reason) as error:
        _ = config(text, login=given).security
    assert len(str(error.value).splitlines()) == 1


def test_what_a_mechanism_cannot_carry_is_a_line_without_the_secret(
    config: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_bytes(b"hunter2\0x")
    with pytest.raises(SettingsError, match="SASL PLAIN: the password") as error:
        _ = config("", login=Given(Sasl.PLAIN, "alice", tmp_path / "secret")).security
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "is empty; its first line must be the secret"), (b"\xff\xfehunter2", "is not text in UTF-8"),
     (None, "No such file"), (b"x" * (LARGEST_FILE + 1), "the limit for a file of settings")],
)  # fmt: skip
def test_a_file_without_a_secret_says_so(content: bytes | None, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SettingsError, match=reason) as error:
        _ = Settings(login=Given(Sasl.PLAIN, "alice", file)).security
    assert str(error.value).startswith(f"{file}: ") and "hunter2" not in str(error.value)


# TLS.


def authorities(settings: Settings) -> int:
    context = settings.security.tls
    assert context is not None
    return len(context.get_ca_certs())


def test_certificates_come_from_options(tmp_path: Path) -> None:
    trusted = Settings(certificates=Certificates(ca=TLS / "ca.pem")).security.tls
    assert trusted is not None and len(trusted.get_ca_certs()) == 1
    assert trusted.verify_mode is ssl.CERT_REQUIRED and trusted.check_hostname
    assert Settings().security.tls is None
    assert Settings(tls=True).security.tls is not None
    assert authorities(Settings(certificates=Certificates(ca=TLS / "ca.pem", cert=TLS / "client.pem"))) == 1
    loose = Settings(certificates=Certificates(insecure=True)).security.tls
    assert loose is not None and loose.verify_mode is ssl.CERT_NONE


def test_certificates_come_from_the_file_in_each_form_of_kafka(config: Callable[..., Settings]) -> None:
    ca, client = (TLS / "ca.pem").read_text(), (TLS / "client.pem").read_text()
    located = f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={TLS / 'ca.pem'}\n"
    assert authorities(config(located)) == 1
    assert authorities(config(f"{located}ssl.keystore.type=PEM\nssl.keystore.location={TLS / 'client.pem'}")) == 1
    end = client.index("-----END PRIVATE KEY-----") + 25
    begin = client.index("-----BEGIN PRIVATE KEY-----")
    key, chain = client[begin:end], client[:begin] + client[end:]
    for join in ("\\n\\\n", "\\\n"):  # with the ends of lines, and without any, as Kafka takes them
        inline = {
            "ssl.truststore.certificates": ca,
            "ssl.keystore.key": key,
            "ssl.keystore.certificate.chain": chain,
        }
        lines = [f"{name}={join.join(text.strip().splitlines())}" for name, text in inline.items()]
        assert authorities(config("\n".join(["security.protocol=SSL", *lines]))) == 1
    unnamed = config(f"{located}ssl.endpoint.identification.algorithm=\n").security.tls
    assert unnamed is not None and not unnamed.check_hostname and unnamed.verify_mode is ssl.CERT_REQUIRED
    newest = config(f"{located}ssl.enabled.protocols=TLSv1.3").security.tls
    assert newest is not None and newest.minimum_version is ssl.TLSVersion.TLSv1_3


def test_the_key_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    _ = Settings(certificates=Certificates(cert=TLS / "client.pem")).security
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xfe\xed\xfe\xed\0\0\0\2", "is a Java keystore .JKS., .* convert it, .*keytool -importkeystore"),
        (b"\x30\x82\x0a\x00", "is a PKCS12 keystore, .* convert it, .*keytool -list -rfc .*openssl pkcs12"),
        (b"hello", "is not in PEM"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "certificate 1 of 1 is damaged"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA", "has no certificate in PEM"),
        (b"-----BEGIN CERTIFICATE-----\n" * 30_000, "has no certificate in PEM"),
    ],
)  # fmt: skip
def test_certificates_of_another_form_say_how_to_convert_them(content: bytes, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "store"
    file.write_bytes(content)
    with pytest.raises(SettingsError, match=reason) as error:
        _ = Settings(certificates=Certificates(ca=file)).security
    assert len(str(error.value).splitlines()) == 1
    with pytest.raises(SettingsError):
        _ = Settings(certificates=Certificates(cert=file)).security


def test_a_key_that_does_not_fit_says_why(tmp_path: Path) -> None:
    cases = [
        (
            Certificates(cert=TLS / "ca.pem"),
            "found no private keys in PEM, expected one; if it is in another file, use --key",
        ),
        (Certificates(key=TLS / "client.pem"), "--key needs --cert, the certificate of the key"),
        (Certificates(cert=TLS / "client.pem", key=TLS / "other-client.pem"), "does not belong to the certificate"),
    ]
    for certificates, reason in cases:
        with pytest.raises(SettingsError, match=reason):
            _ = Settings(certificates=certificates).security
    with pytest.raises(SettingsError, match="--no-tls cannot be used with --ca, --cert, --key or --insecure"):
        _ = Settings(tls=False, certificates=Certificates(ca=TLS / "ca.pem")).security


# A key of an elliptic curve, encrypted with the password "hunter2", whose certificate is in the same file.
ENCRYPTED = DATA / "console" / "encrypted-client.pem"


def test_an_encrypted_key_takes_its_password_and_never_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: Callable[..., Settings]
) -> None:
    certificates = Certificates(cert=ENCRYPTED)
    with pytest.raises(
        SettingsError, match="the key is encrypted; its password can be in --key-password-file, the variable"
    ):
        _ = Settings(certificates=certificates).security
    monkeypatch.setenv("KIPWIRE_KEY_PASSWORD", "wrong2")
    with pytest.raises(SettingsError, match="the password of the private key is wrong, or the key is damaged") as error:
        _ = Settings(certificates=certificates).security
    assert "wrong2" not in str(error.value)
    monkeypatch.setenv("KIPWIRE_KEY_PASSWORD", "hunter2")
    assert Settings(certificates=certificates).security.tls is not None
    monkeypatch.delenv("KIPWIRE_KEY_PASSWORD")
    text = f"security.protocol=SSL\nssl.keystore.location={ENCRYPTED}\nssl.keystore.type=PEM\nssl.key.password=hunter2"
    assert config(text).security.tls is not None


def test_secrets_are_in_no_repr(config: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        f'security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} required username="alice" '
    )
    settings = config(f'{text} password="hunter2";', login=Given(token_command="curl hunter2"))
    properties = read_properties(settings.config or Path())
    shown = repr((settings, settings.security, properties, properties.login()))
    assert "alice" in shown and "hunter2" not in shown
    monkeypatch.setenv("KIPWIRE_PASSWORD", "hunter3")
    assert "hunter3" not in repr(Settings(login=Given(Sasl.PLAIN, "alice")).security)


def test_nothing_is_read_before_a_connection_needs_it(tmp_path: Path) -> None:
    Settings(config=tmp_path / "missing", login=Given(Sasl.PLAIN, "alice", tmp_path / "missing"))


def test_a_person_at_a_terminal_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def answer(prompt: str, stream: object) -> str:
        asked.append(prompt)
        return "hunter2"

    monkeypatch.setattr("kipwire.cluster.tls.getpass", answer)
    with pytest.raises(SettingsError, match="the password of alice is missing"):  # no terminal to ask
        _ = Settings(login=Given(Sasl.PLAIN, "alice")).security
    assert not asked
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("sys.stderr", Terminal())
    settings = Settings(login=Given(Sasl.PLAIN, "alice"), certificates=Certificates(cert=ENCRYPTED))
    assert settings.security.sasl == Plain("alice", "hunter2")
    assert settings.security is settings.security
    assert asked == [f"Password of the key in {ENCRYPTED}: ", "Password of alice: "]


class Terminal(io.StringIO):
    """A stream that passes for a terminal."""

    def isatty(self) -> bool:
        return True


def test_no_option_takes_a_secret() -> None:
    options = {name for one in call.params for name in one.opts}
    assert {"--password-file", "--token-file", "--key-password-file"} <= options
    assert not options & {"--password", "--token", "--key-password", "--secret"}
