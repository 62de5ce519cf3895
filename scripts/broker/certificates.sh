#!/usr/bin/env bash
# Makes certificates for a broker on loopback and its clients, in PEM, into a new folder: certificates.sh FOLDER
#   ca.pem          of the authority that the broker trusts, and that clients should
#   broker.pem      key and certificate of the broker, for localhost, 127.0.0.1 and ::1
#   client.pem      the same of a client
#   other-ca.pem, other-client.pem   of an authority that the broker does not trust
set -Eeuo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
DAYS=30

command -v openssl >/dev/null || bash "$HERE/../install.sh" openssl "OpenSSL makes certificates for tests" || {
    echo "certificates: OpenSSL (openssl) is not installed: install it, for example with apt-get install openssl" >&2
    exit 2
}
mkdir -p "$1"
cd "$1"
umask 077

# What every certificate needs to be accepted by the strictest clients (RFC 5280), such as Python from 3.13 on.
request() {
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -sha256 -subj "/CN=$2" -keyout "$1.key" -out "$1.csr"
}

authority() {
    request "$1" "$1 of kipwire's tests"
    openssl x509 -req -in "$1.csr" -signkey "$1.key" -sha256 -days $DAYS -out "$1.pem" -extfile /dev/stdin <<EXTENSIONS
basicConstraints=critical,CA:TRUE
keyUsage=critical,keyCertSign,cRLSign
subjectKeyIdentifier=hash
EXTENSIONS
}

signed() { # by the authority that is the second argument
    request "$1" "$3"
    openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -sha256 -days $DAYS -out "$1.crt" -extfile /dev/stdin <<EXTENSIONS
basicConstraints=CA:FALSE
keyUsage=critical,digitalSignature
extendedKeyUsage=serverAuth,clientAuth
subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1
authorityKeyIdentifier=keyid
subjectKeyIdentifier=hash
EXTENSIONS
    cat "$1.key" "$1.crt" >"$1.pem"
}

exec 3>&2 2>openssl.log
trap 'echo "certificates: OpenSSL fails: $(tail -n 1 openssl.log)" >&3' ERR
authority ca
authority other-ca
signed broker ca localhost
signed client ca alice
signed other-client other-ca mallory
rm -f -- *.csr *.crt *.key *.srl
