/* Reads messages of examples/conform/specs/readings, and answers `kipwire conform`: cc -o reading reading.c */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t *at, *end;      /* what is still to be read of a message */
static const char *wrong;            /* why the message is refused; NULL as long as nothing is wrong */
static char *out, *next;             /* the JSON text that is made of it */

static int32_t integer(int width) {
    uint32_t value = 0;
    if (wrong || end - at < width) { if (!wrong) wrong = "the message ends too early"; return 0; }
    for (int i = 0; i < width; i++) value = value << 8 | *at++;
    return width == 2 ? (int16_t)value : (int32_t)value;
}

static int is_utf8(const uint8_t *text, long size) {
    for (long i = 0; i < size;) {
        uint8_t byte = text[i++];
        int more = byte < 0x80 ? 0 : byte >= 0xC2 && byte < 0xE0 ? 1 : byte >= 0xE0 && byte < 0xF0 ? 2
                 : byte >= 0xF0 && byte < 0xF5 ? 3 : -1;
        if (more < 0 || i + more > size) return 0;
        if (more > 1 && ((byte == 0xE0 && text[i] < 0xA0) || (byte == 0xED && text[i] > 0x9F)
                         || (byte == 0xF0 && text[i] < 0x90) || (byte == 0xF4 && text[i] > 0x8F))) return 0;
        while (more--) if ((text[i++] & 0xC0) != 0x80) return 0;
    }
    return 1;
}

static void string(const char *name, int nullable) {
    int32_t size = integer(2);
    next += sprintf(next, "\"%s\":", name);
    if (size == -1 && nullable) { next += sprintf(next, "null,"); return; }
    if (!wrong && size < 0) wrong = "the length of a string is negative";
    if (!wrong && end - at < size) wrong = "the message ends within a string";
    if (!wrong && !is_utf8(at, size)) wrong = "a string is not UTF-8";
    if (wrong) return;
    *next++ = '"';
    for (; size--; at++) {
        if (*at < 0x20 || *at == '"' || *at == '\\') next += sprintf(next, "\\u%04x", *at);
        else *next++ = (char)*at;
    }
    next += sprintf(next, "\",");
}

static void integers(const char *name) {
    int32_t count = integer(4);
    if (!wrong && (count < 0 || (end - at) / 4 < count)) wrong = "the count of an array is wrong";
    next += sprintf(next, "\"%s\":[", name);
    for (int32_t i = 0; !wrong && i < count; i++) next += sprintf(next, i ? ",%d" : "%d", integer(4));
    next += sprintf(next, "],");
}

static void boolean(const char *name) {
    int byte = integer(1);
    if (!wrong && byte != 0 && byte != 1) wrong = "a boolean is neither 0 nor 1";
    next += sprintf(next, "\"%s\":%s,", name, byte ? "true" : "false");
}

static void reading(int version) {
    *next++ = '{';
    string("sensor", 0);
    if (version >= 1) string("place", 1);
    integers("values");
    if (version >= 1) boolean("isLast");
    if (!wrong && at < end) wrong = "bytes follow the message";
    next[-1] = '}';
    *next = 0;
}

/* The value of a key of the question, which is JSON without spaces between keys and values. */
static const char *value(const char *line, const char *key) {
    const char *found = strstr(line, key);
    return found ? found + strlen(key) : "";
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        long id = strtol(value(line, "\"id\":"), NULL, 10), version = strtol(value(line, "\"version\":"), NULL, 10);
        const char *hex = value(line, "\"bytes\":\"");
        size_t size = strcspn(hex, "\"") / 2;
        if (strstr(line, "\"op\":\"hello\"")) {
            printf("{\"id\":%ld,\"name\":\"reading.c\",\"release\":\"1\",\"ops\":[\"decode\"],"
                   "\"claims\":{\"message\":{\"Reading\":[0,1]}}}\n", id);
        } else {
            uint8_t *data = malloc(size + 1);
            next = out = malloc(16 * size + 200);
            for (size_t i = 0; i < size; i++) sscanf(hex + 2 * i, "%2hhx", &data[i]);
            at = data, end = data + size, wrong = NULL;
            reading((int)version);
            if (wrong) printf("{\"id\":%ld,\"refused\":\"%s\"}\n", id, wrong);
            else printf("{\"id\":%ld,\"json\":%s}\n", id, out);
            free(data), free(out);
        }
        fflush(stdout);
    }
    free(line);
}
