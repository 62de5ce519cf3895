# A Kafka broker in memory, for tests. Beside this file, a folder dist/ has the wheel of kipwire:
#   docker build -t kipwire-broker -f fake_broker.Dockerfile . && docker run -p 9092:9092 kipwire-broker --topic orders:3
FROM python:3.13-slim
COPY dist/kipwire-*.whl /tmp/
RUN pip install --no-cache-dir "$(ls /tmp/kipwire-*.whl)[console,records]"
EXPOSE 9092
STOPSIGNAL SIGINT
ENTRYPOINT ["kipwire", "broker", "--host", "0.0.0.0"]
