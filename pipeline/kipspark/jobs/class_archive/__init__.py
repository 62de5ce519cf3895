"""An archive of Spark's Java classes, made (`kipspark class-archive`)."""
