#!/usr/bin/env bash
# Starts and stops a Kafka broker for tests: one process that is broker and controller (KRaft), on loopback only.
# Its jars come from Maven Central, once, into the user's cache folder; its data is new with every start.
set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
HOME_OF_BROKER=$(cd "$HERE/../.." && pwd)/build/broker
CERTIFICATES=$HOME_OF_BROKER/certificates
PORT=${BROKER_PORT:-19092}
CONTROLLER_PORT=$((PORT + 1))
SECONDS_TO_START=60
# A second listener, whose clients are sent to this port: that of a proxy which does not rewrite addresses.
SENDS_TO=${BROKER_SENDS_TO:-}
SECOND_LISTENER=${SENDS_TO:+,PROXIED://127.0.0.1:$((PORT + 2))}
SECOND_ADDRESS=${SENDS_TO:+,PROXIED://127.0.0.1:$SENDS_TO}
# Listeners with security, which tests/support/live/listeners.py describes: from port + 11 on, in this order.
# RENEWED is SASL whose sessions are short, so that clients must authenticate again (KIP-368).
SECURED=(TLS MUTUAL_TLS SASL SASL_TLS RENEWED)
FIRST_SECURED_PORT=$((PORT + 11))
MILLISECONDS_OF_A_SESSION=3000
USERNAME=alice
PASSWORD=secret-of-alice
# Each pom has its own folder, so that a new version never uses the jars of an old one.
JARS=${XDG_CACHE_HOME:-$HOME/.cache}/kipwire/broker/$(cksum <"$HERE/pom.xml" | cut -d ' ' -f 1)

fail() {
    echo "broker: $*" >&2
    exit 2
}

is_running() {
    [ -f "$HOME_OF_BROKER/pid" ] && kill -0 "$(cat "$HOME_OF_BROKER/pid")" 2>/dev/null
}

port_of_running() {
    sed -n 's|^listeners=CLIENTS://127.0.0.1:\([0-9]*\),.*|\1|p' "$HOME_OF_BROKER/server.properties"
}

answers() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

all_answer() {
    local number
    answers "$PORT" || return
    for number in "${!SECURED[@]}"; do
        answers $((FIRST_SECURED_PORT + number)) || return
    done
}

use_java() {
    JAVA_HOME=$(bash "$HERE/../java.sh")
    export JAVA_HOME # for Maven
}

fetch_jars() {
    [ -d "$JARS" ] && return
    bash "$HERE/../maven.sh"
    echo "Fetching Kafka's jars (54 MB) into $JARS"
    mkdir -p "$(dirname "$JARS")"
    local fetched
    fetched=$(mktemp -d "$JARS.XXXXXX")
    if ! mvn -q -B -f "$HERE/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$fetched" \
        >"$fetched.log" 2>&1; then
        rm -rf "$fetched"
        fail "Maven cannot fetch Kafka's jars: $(grep -m 1 ERROR "$fetched.log" || tail -n 1 "$fetched.log")"
    fi
    rm -f "$fetched.log"
    mv -T "$fetched" "$JARS" 2>/dev/null || rm -rf "$fetched" # another start was faster
}

secured_listeners() {
    local number
    for number in "${!SECURED[@]}"; do
        printf ',%s://127.0.0.1:%d' "${SECURED[number]}" $((FIRST_SECURED_PORT + number))
    done
}

sasl_properties() { # of the listener that is named, in lower case
    local mechanism of_listener=listener.name.$1 package=org.apache.kafka.common.security
    echo "$of_listener.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
    echo "$of_listener.plain.sasl.jaas.config=$package.plain.PlainLoginModule required user_$USERNAME=\"$PASSWORD\";"
    for mechanism in scram-sha-256 scram-sha-512; do
        echo "$of_listener.$mechanism.sasl.jaas.config=$package.scram.ScramLoginModule required;"
    done
    # Kafka's validator for tests: it takes tokens without a signature.
    echo "$of_listener.oauthbearer.sasl.jaas.config=$package.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=\"broker\";"
}

write_properties() {
    local secured
    secured=$(secured_listeners)
    cat >"$HOME_OF_BROKER/server.properties" <<PROPERTIES
node.id=1
process.roles=broker,controller
listeners=CLIENTS://127.0.0.1:$PORT,CONTROLLER://127.0.0.1:$CONTROLLER_PORT$SECOND_LISTENER$secured
advertised.listeners=CLIENTS://127.0.0.1:$PORT,CONTROLLER://127.0.0.1:$CONTROLLER_PORT$SECOND_ADDRESS$secured
listener.security.protocol.map=CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED:PLAINTEXT,TLS:SSL,MUTUAL_TLS:SSL,SASL:SASL_PLAINTEXT,SASL_TLS:SASL_SSL,RENEWED:SASL_PLAINTEXT
inter.broker.listener.name=CLIENTS
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers=127.0.0.1:$CONTROLLER_PORT
log.dirs=$HOME_OF_BROKER/data
num.partitions=3
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=2
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.consumer.assignment.interval.ms=0
metadata.log.max.snapshot.interval.ms=10000
metadata.log.segment.ms=4000
ssl.keystore.type=PEM
ssl.keystore.location=$CERTIFICATES/broker.pem
ssl.truststore.type=PEM
ssl.truststore.location=$CERTIFICATES/ca.pem
listener.name.mutual_tls.ssl.client.auth=required
listener.name.renewed.connections.max.reauth.ms=$MILLISECONDS_OF_A_SESSION
delegation.token.secret.key=secret-of-the-broker
$(sasl_properties sasl)
$(sasl_properties sasl_tls)
$(sasl_properties renewed)
PROPERTIES
}

start() {
    if is_running; then
        [ "$(port_of_running)" = "$PORT" ] ||
            fail "the broker of this checkout runs at port $(port_of_running), not $PORT; stop it (make broker-stop), or use BROKER_PORT=$(port_of_running)"
        echo "The broker is already running at 127.0.0.1:$PORT (process $(cat "$HOME_OF_BROKER/pid"))"
        return
    fi
    local port
    for port in "$PORT" "$CONTROLLER_PORT" $(seq $FIRST_SECURED_PORT $((FIRST_SECURED_PORT + ${#SECURED[@]} - 1))); do
        ! answers "$port" || fail "port $port is in use by another program; choose others with BROKER_PORT=29092"
    done
    use_java
    fetch_jars
    rm -rf "$HOME_OF_BROKER"
    mkdir -p "$HOME_OF_BROKER"
    bash "$HERE/certificates.sh" "$CERTIFICATES"
    write_properties
    local run=("$JAVA_HOME/bin/java" -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$JARS/*" -Dorg.slf4j.simpleLogger.defaultLogLevel=warn)
    "${run[@]}" kafka.tools.StorageTool format --standalone -t "$(cluster_id)" -c "$HOME_OF_BROKER/server.properties" \
        --add-scram "SCRAM-SHA-256=[name=$USERNAME,password=$PASSWORD]" --add-scram "SCRAM-SHA-512=[name=$USERNAME,password=$PASSWORD]" \
        >"$HOME_OF_BROKER/format.log" 2>&1 || fail "cannot create its data folder: see $HOME_OF_BROKER/format.log"
    echo "Starting Kafka, broker and controller in one process"
    # In its own session, so that Ctrl-C in this terminal does not end it.
    setsid nohup "${run[@]}" kafka.Kafka "$HOME_OF_BROKER/server.properties" </dev/null >"$HOME_OF_BROKER/server.log" 2>&1 &
    echo $! >"$HOME_OF_BROKER/pid"
    for ((tenths = 0; tenths < SECONDS_TO_START * 10; tenths++)); do
        if all_answer; then
            echo "The broker is running at 127.0.0.1:$PORT; its logs are in $HOME_OF_BROKER/data; make broker-stop stops it"
            return
        fi
        is_running || fail "Kafka ended: $(tail -n 1 "$HOME_OF_BROKER/server.log")"
        sleep 0.1
    done
    stop
    fail "Kafka did not answer within $SECONDS_TO_START seconds: see $HOME_OF_BROKER/server.log"
}

tool() {
    use_java
    fetch_jars
    exec "$JAVA_HOME/bin/java" -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$JARS/*" -Dorg.slf4j.simpleLogger.defaultLogLevel=error "$@"
}

cluster_id() {
    # Any 16 bytes, in the alphabet that Kafka writes them in; its tools take one that begins with a hyphen for an option.
    head -c 16 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=' | sed 's/^-/_/'
}

stop() {
    if ! is_running; then
        echo "No broker is running"
        return
    fi
    local pid
    pid=$(cat "$HOME_OF_BROKER/pid")
    kill "$pid"
    for ((tenths = 0; tenths < 100; tenths++)); do
        is_running || break
        sleep 0.1
    done
    ! is_running || kill -9 "$pid"
    rm -f "$HOME_OF_BROKER/pid"
    echo "The broker has stopped; its logs stay in $HOME_OF_BROKER/data"
}

# Runs a command while there is a broker; the status is that of the command.
with_broker() {
    local status=0
    start
    "$@" || status=$?
    stop
    exit "$status"
}

case ${1:-} in
jars) use_java && fetch_jars >&2 && echo "$JARS" ;;
start) start ;;
stop) stop ;;
with) with_broker "${@:2}" ;; # such as: broker.sh with pytest -m broker
tool) tool "${@:2}" ;; # such as: broker.sh tool org.apache.kafka.tools.TopicCommand --help
*) fail "usage: start, stop, jars, with and a command to run meanwhile, or tool with a Kafka class and its arguments" ;;
esac
