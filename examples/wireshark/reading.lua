-- How the dissector reads numbers and values, and adds them to a tree. Part of each file that dissector.py writes, after
-- the constants NAME, TITLE, LABEL, PORTS and RECORDS, the protocol `proto`, and the tables of what is generated.

local N = { -- fields that no spec has
  null = ProtoField.string(NAME .. ".null", "null"),
  tags = ProtoField.uint32(NAME .. ".tagged_fields", "tagged fields"),
  tag = ProtoField.uint32(NAME .. ".tag", "tag"),
  size = ProtoField.uint32(NAME .. ".tagged_field_size", "size"),
  unknown = ProtoField.bytes(NAME .. ".unknown_tagged_field", "unknown tagged field"),
  length = ProtoField.int32(NAME .. ".size", "size"),
  request = ProtoField.framenum(NAME .. ".request_in", "request in", base.NONE, frametype.REQUEST),
  response = ProtoField.framenum(NAME .. ".response_in", "response in", base.NONE, frametype.RESPONSE),
  api = ProtoField.string(NAME .. ".message", "message"),
  version = ProtoField.int32(NAME .. ".version", "version"),
  rest = ProtoField.bytes(NAME .. ".not_dissected", "not dissected"),
  batch = ProtoField.uint32(NAME .. ".batch", "batch"),
}
local damaged = ProtoExpert.new(NAME .. ".damaged", "Damaged", expert.group.MALFORMED, expert.severity.ERROR)
local noted = ProtoExpert.new(NAME .. ".noted", "Not dissected", expert.group.UNDECODED, expert.severity.NOTE)
-- What is loaded stays: to look through it again and again takes half of the time.
pcall(collectgarbage, "generational")
collectgarbage("setpause", 400)
proto.prefs.unpack = Pref.uint("Unpack up to", 16384, "Bytes of the longest compressed records that are unpacked")
proto.experts = { damaged, noted }
proto.prefs.ports = Pref.range("TCP ports", PORTS, "Ports of the brokers", 65535)

-- The bytes at hand: as a string, as a Tvb, and where they end. Positions count from 0.
local B, T, E
local add, range -- methods of trees and Tvbs: looked up once, since that takes long
local made = 0 -- items in the tree of this packet: Wireshark gives up at a million
local MOST = 500000
-- Wireshark takes time by the square of the bytes that it unpacks, of which gzip makes a thousand of one.
local unpacked_bytes = 0 -- in this packet
local MOST_UNPACKED = 16777216

local function fault(p, what) error({ at = p, what = what }, 0) end
local function short(p, n)
  fault(p, "need " .. n .. " byte" .. (n == 1 and "" or "s") .. ", but only " .. (E > p and E - p or 0) .. " are left")
end
local function tell(t, why)
  if type(why) ~= "table" then why = { what = "defect: " .. tostring(why), at = 0 } end
  t:add_proto_expert_info(damaged, why.what .. " at byte " .. why.at)
end
local function make(p, n)
  made = made + n
  if made > MOST then fault(p, "more than " .. MOST .. " items are not shown") end
end

-- Numbers: the value, and the position after it.

local function uns(p, bits)
  local value, scale, q = 0, 1, p
  while true do
    if q >= E then short(q, 1) end
    local b = byte(B, q + 1)
    q = q + 1
    value = value + b % 128 * scale
    if b < 128 then break end
    scale = scale * 128
    if 7 * (q - p) >= bits then fault(p, "a varint of more than " .. bits .. " bits") end
  end
  if value >= 2 ^ bits then fault(p, "a varint of more than " .. bits .. " bits") end
  return value, q
end
local function long(p) -- as two halves of 32 bits
  local low, high, q = 0, 0, p
  while true do
    if q >= E then short(q, 1) end
    local b = byte(B, q + 1)
    local at, v = 7 * (q - p), b % 128
    if at >= 35 then high = high + v * 2 ^ (at - 32)
    elseif at == 28 then low, high = low + v % 16 * 2 ^ 28, floor(v / 16)
    else low = low + v * 2 ^ at end
    q = q + 1
    if b < 128 then break end
    if q - p >= 10 then fault(p, "a varint of more than 64 bits") end
  end
  if high >= 2 ^ 32 then fault(p, "a varint of more than 64 bits") end
  return low, high, q
end
local function zig(p, bits)
  if bits == 64 then
    local low, high, q = long(p)
    local odd = low % 2
    low, high = floor(low / 2) + high % 2 * 2 ^ 31, floor(high / 2)
    if odd == 1 then low, high = 2 ^ 32 - 1 - low, 2 ^ 32 - 1 - high end
    return Int64.new(low, high), q
  end
  local v, q = uns(p, bits)
  return v % 2 == 0 and v / 2 or -(v + 1) / 2, q
end
local function two(p, bits) -- the pattern of a number in two's complement
  if bits == 64 then
    local low, high, q = long(p)
    return Int64.new(low, high), q
  end
  local v, q = uns(p, bits)
  return v >= 2 ^ (bits - 1) and v - 2 ^ bits or v, q
end
local function fixed(p, n, signed)
  if p + n > E then short(p, n) end
  local v = 0
  for i = 1, n do v = v * 256 + byte(B, p + i) end
  return signed and v >= 2 ^ (8 * n - 1) and v - 2 ^ (8 * n) or v, p + n
end
local function n8(p) return fixed(p, 1, true) end
local function n16(p) -- most strings of most captures begin with one
  if p + 2 > E then short(p, 2) end
  local a, b = byte(B, p + 1, p + 2)
  return a < 128 and a * 256 + b or a * 256 + b - 65536, p + 2
end
local function n32(p)
  if p + 4 > E then short(p, 4) end
  local a, b, c, d = byte(B, p + 1, p + 4)
  local v = ((a * 256 + b) * 256 + c) * 256 + d
  return a < 128 and v or v - 4294967296, p + 4
end
local function nzig(p) return zig(p, 32) end
local function nuv(p) return uns(p, 31) end
local function nuv1(p)
  if p < E then
    local b = byte(B, p + 1)
    if b < 128 then return b - 1, p + 1 end
  end
  local v, q = uns(p, 31)
  return v - 1, q
end
local function int(t, f, p, read, bits, whole)
  local v, q = read(p, bits)
  add(t, f, range(T, p, q - p), whole and Int64.new(v) or v)
  return q
end

-- Values: each adds what it reads at p to the tree t, and gives the position after it.

local function null(t, p, q, name)
  if not name then fault(p, "null, where it must not be null") end
  add(t, N.null, range(T, p, q - p), name):set_text(name .. ": null")
  return q
end
local function length(p, read, most)
  local n, q = read(p)
  if n < -1 or most and n > most then fault(p, "a length of " .. n) end
  return n, q
end
local function text_of(range, p, n)
  local s = sub(B, p + 1, p + n)
  return find(s, "[^ -~]") and range:string(ENC_UTF_8) or s
end
local function text(t, f, p, read, name, most)
  local n, q = length(p, read, most)
  if n < 0 then return null(t, p, q, name) end
  if q + n > E then short(q, n) end
  local range = range(T, q, n)
  add(t, f, range, text_of(range, q, n))
  return q + n
end
local function rest_text(t, f, p, e)
  if p > e then short(p, E - e) end
  local range = range(T, p, e - p)
  add(t, f, range, text_of(range, p, e - p))
  return e
end
local function rest_blob(t, f, p, e)
  if p > e then short(p, E - e) end
  add(t, f, range(T, p, e - p))
  return e
end
local function blob(t, f, p, read, name)
  local n, q = length(p, read)
  if n < 0 then return null(t, p, q, name) end
  if q + n > E then short(q, n) end
  add(t, f, range(T, q, n))
  return q + n
end
local function node(t, f, p, struct, value)
  local s = value and add(t, f, range(T, p, 0), value) or add(t, f, range(T, p, 0))
  local q = struct(s, p)
  s:set_len(q - p)
  return q
end
local function maybe(t, f, p, struct, read, none, name)
  local v, q = read(p, 31)
  if v == none then return null(t, p, q, name) end
  if v ~= 1 then fault(p, "the marker of a struct is " .. v) end
  return node(t, f, q, struct)
end
local function list(t, count, f, p, one, read, name, items, is_empty)
  local n, q = length(p, read)
  if n < 0 then return null(t, p, q, name) end
  if n > E - q and not is_empty then fault(p, n .. " elements, but only " .. E - q .. " bytes are left") end
  make(p, n * items)
  local a = add(t, count, range(T, p, q - p), n)
  for i = 0, n - 1 do
    if f then q = node(a, f, q, one, i) else q = one(a, q) end
  end
  return q
end
local function numbers(t, count, f, p, width, read, name)
  local n, q = length(p, read)
  if n < 0 then return null(t, p, q, name) end
  if n * width > E - q then short(q, n * width) end
  make(p, n)
  local a = add(t, count, range(T, p, q - p), n)
  for at = q, q + (n - 1) * width, width do add(a, f, range(T, at, width)) end
  return q + n * width
end
local function span(t, f, p, e, one, items) -- structs up to a position
  if p > e or e > E then short(p, e - p) end
  local outer, i = E, 0
  E = e
  while p < e do
    make(p, items)
    p = node(t, f, p, one, i)
    i = i + 1
  end
  E = outer
  return p
end
local function sized(t, count, f, p, one, read, name, items)
  local n, q = length(p, read)
  if n < 0 then return null(t, p, q, name) end
  return span(add(t, count, range(T, p, q - p), n), f, q, q + n, one, items)
end
local function tags(t, p, known)
  local n, q = uns(p, 31)
  local s = add(t, N.tags, range(T, p, q - p), n)
  local before = -1
  p = q
  for _ = 1, n do
    make(p, 4)
    local tag, size_at = uns(p, 31)
    local size, start = uns(size_at, 31)
    local one = add(s, N.tag, range(T, p, size_at - p), tag)
    add(one, N.size, range(T, size_at, start - size_at), size)
    if tag <= before then fault(p, "tag " .. tag .. " follows tag " .. before) end
    if start + size > E then short(start, size) end
    before = tag
    if known[tag] == false then fault(p, "tag " .. tag .. " belongs to other versions") end
    if known[tag] then
      if known[tag](t, start) ~= start + size then fault(size_at, "the value does not take " .. size .. " bytes") end
    else
      add(one, N.unknown, range(T, start, size))
    end
    p = start + size
  end
  return p
end

-- Records: batches of format 2, messages of formats 0 and 1. Those that are compressed are in a Tvb of their own.

local CODECS = { "gzip", "snappy", "lz4", "zstd" }
local function unpacked(t, p, e, codec, use)
  local range = range(T, p, e - p)
  if e - p > proto.prefs.unpack or unpacked_bytes > MOST_UNPACKED then
    local size = "compressed by " .. codec .. ": " .. e - p .. " bytes, "
    t:add_proto_expert_info(noted, size .. (e - p > proto.prefs.unpack and "more than the preference unpack"
      or "in a packet of which " .. unpacked_bytes .. " bytes were unpacked already"))
    return
  end
  local method = ({ gzip = "uncompress", snappy = "uncompress_snappy", zstd = "uncompress_zstd" })[codec]
  local has, packed = pcall(function() return range[method](range, "Records that were compressed by " .. codec) end)
  if not (method and has and packed) then
    t:add_proto_expert_info(noted, "compressed by " .. codec .. ", which this Wireshark does not offer to Lua")
    return
  end
  local b, tvb, outer = B, T, E
  T = packed:tvb()
  B, E = T:raw(), T:len()
  unpacked_bytes = unpacked_bytes + E
  use()
  B, T, E = b, tvb, outer
end
local batches
local function records_of(t, f, p, e, start) -- what ends a batch: its records
  add(t, f, range(T, p, e - p))
  local codec = fixed(start + 21, 2) % 8
  if codec == 0 then
    S[RECORDS.records](t, p)
  else
    unpacked(t, p, e, CODECS[codec] or "codec " .. codec, function() S[RECORDS.records](t, 0) end)
  end
  return e
end
local function value_of(t, start, e) -- of an old message: a message set where it is compressed
  local codec = byte(B, start + 18) % 8
  if codec == 0 then return end
  local p = start + (byte(B, start + 17) == 0 and 18 or 26)
  local key, q = n32(p)
  local size, at = n32(q + (key > 0 and key or 0))
  if size > 0 then
    unpacked(t, at, e, CODECS[codec] or "codec " .. codec, function() batches(t, 0, E) end)
  end
end
batches = function(t, p, e)
  local outer = E
  E = e
  while p < e do
    make(p, 40)
    local size = e - p >= 17 and n32(p + 8) or e
    if size >= 0 and p + 12 + size > e then
      add(t, N.rest, range(T, p, e - p)):append_text(" (the start of a batch)")
      break
    end
    local magic = byte(B, p + 17)
    local one = ({ [0] = S[RECORDS.v0], [1] = S[RECORDS.v1], [2] = S[RECORDS.v2] })[magic]
    if size < 0 or not one then fault(p, "no batch of records: its size is " .. size .. ", its format " .. magic) end
    local start = p
    local s = add(t, N.batch, range(T, p, 12 + size), magic)
    s:set_text(magic == 2 and "batch" or "message of format " .. magic)
    p = one(s, p)
    if magic < 2 then value_of(s, start, p) end
  end
  E = outer
end
local records = function(t, f, p, read, name)
  local n, q = length(p, read)
  if n < 0 then return null(t, p, q, name) end
  if q + n > E then short(q, n) end
  local a, outer = add(t, f, range(T, q, n)), E
  local b, tvb = B, T
  local good, why = pcall(batches, a, q, q + n)
  B, T, E = b, tvb, outer
  if not good then tell(a, why) end -- and go on after them
  return q + n
end
if not RECORDS then records = blob end
