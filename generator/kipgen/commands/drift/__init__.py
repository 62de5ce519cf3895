"""kipgen drift: what a release of Kafka has and specs lack."""
