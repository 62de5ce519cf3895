-- How the dissector finds frames, and which message is in each. Part of each file that dissector.py writes, the last.

local all = {}
for _, f in pairs(N) do all[#all + 1] = f end
for _, f in ipairs(F) do all[#all + 1] = f end
proto.fields = all

-- Frames. A request says what it is; a response has the correlation id of a request of its connection.

-- Of all frames only numbers stay, as few as there can be: millions of frames may be in a capture.

local asked, answers, replied, raw, packet = {}, {}, {}, {}, 0 -- asked: by connection, then by correlation id
function proto.init() asked, answers, replied, raw, packet = {}, {}, {}, {}, 0 end
local KINDS, kind_of = {}, {} -- each pair of an API and a version, by a number below 65536; its number, by both
for key, api in pairs(API) do
  kind_of[key] = {}
  for version in pairs(api.q) do
    local to = " v" .. version
    KINDS[#KINDS + 1] = { api = api, version = version, q = api.name .. " request" .. to, a = api.name .. " response" .. to }
    kind_of[key][version] = #KINDS
  end
end
local function mark(number, id) -- of a frame in a packet; a number of Lua has 53 bits
  return number < 2097152 and number * 4294967296 + id % 4294967296 or number .. ":" .. id
end
local QUIET = setmetatable({}, { __index = function() return function(self) return self end end })

local function body(t, struct, p)
  local q = struct(t, p)
  if q ~= E then fault(q, E - q .. " bytes are left over") end
  return q
end
local function answer_of(api, version, p) -- which version an answer is in: see `refusal` in the resolved specs
  local it = api.refusal
  local other = it and version ~= it.version and E - p >= 2 and fixed(p, 2) == it.code and api.a[it.version]
  if not other then return version end
  local m, a = made, add
  add = function() return QUIET end
  local fits = pcall(body, QUIET, S[api.a[version]], p)
  local fits_other = not fits and pcall(body, QUIET, S[other], p)
  made, add = m, a
  return fits_other and it.version or version
end
local function match(pinfo, is_request) -- kind, correlation id, packet of the other frame; or why not
  local number, src, dst = pinfo.number, tostring(pinfo.src), tostring(pinfo.dst)
  if not is_request then src, dst = dst, src end
  local ports = pinfo.src_port + pinfo.dst_port * 65536
  if not is_request then ports = pinfo.dst_port + pinfo.src_port * 65536 end
  local key = src .. " " .. dst .. " " .. ports
  local of = asked[key]
  if is_request then
    local api, version, id = fixed(4, 2, true), fixed(6, 2, true), fixed(8, 4, true)
    local kind = kind_of[api] and kind_of[api][version]
    if not kind then
      return nil, id, nil, raw[key] and "a token of SASL"
        or "no request of API key " .. api .. " and version " .. version .. " is known"
    end
    if not pinfo.visited then
      if not of then
        of = {}
        asked[key] = of
      end
      of[id] = number * 65536 + kind
      if api == 17 and version == 0 and KINDS[kind].api.name == "SaslHandshake" then raw[key] = true end
    end
    return KINDS[kind], id, replied[mark(number, id)]
  end
  local id = fixed(4, 4, true)
  local at = mark(number, id)
  local it = answers[at]
  if not it and of and not pinfo.visited then
    it = of[id]
    of[id] = nil
    answers[at] = it
    if it then replied[mark(floor(it / 65536), id)] = number end
  end
  local kind = it and KINDS[it % 65536]
  if kind and kind.api.a and kind.api.a[kind.version] then return kind, id, floor(it / 65536) end
  return nil, id, nil, raw[key] and "a token of SASL" or "no request of this correlation id was seen"
end
local function frame(t, is_request, kind, other)
  if other then t:add(is_request and N.response or N.request, other):set_generated() end
  local api, version, headers = kind.api, kind.version, is_request and "q" or "a"
  local of = is_request and api.q or api.a
  t:add(N.api, api.name .. (is_request and "Request" or "Response")):set_generated()
  local p = S[HEADERS[headers][api["h" .. headers][version]]](t, 4)
  if not is_request then version = answer_of(api, version, p) end
  t:add(N.version, version):set_generated()
  body(t, S[of[version]], p)
end
local function finish(t, pinfo, good, why)
  if not good then
    tell(t, why)
    pinfo.cols.info:append("[damaged] ")
  end
end
local own
local function dissect(tvb, pinfo, tree)
  own = own or Dissector.get(NAME)
  local is_wanted = tree.visible or tree:referenced(own) -- by the window, a filter, a column
  local is_request = pinfo.dst_port == pinfo.match_uint
  T, E = tvb, tvb:len()
  B = tvb:raw(0, not is_wanted and E > 12 and 12 or E)
  local good, kind, id, other, why = pcall(match, pinfo, is_request)
  local what = good and kind and kind[is_request and "q" or "a"] or is_request and "request" or "response"
  local more = not good and "" or kind and "correlation id " .. id or why
  if packet ~= pinfo.number then
    packet, made, unpacked_bytes = pinfo.number, 0, 0
    pinfo.cols.info = what .. "  "
  else
    pinfo.cols.info:append(what .. "  ")
  end
  if kind and good and not is_wanted then return E end
  add, range = tree.add, tvb.range
  local t = tree:add(proto, tvb())
  t:append_text(", " .. what .. ", " .. more)
  if E >= 4 then t:add(N.length, range(tvb, 0, 4)) end
  if not good then
    finish(t, pinfo, false, kind)
  elseif kind then
    finish(t, pinfo, pcall(frame, t, is_request, kind, other))
  else
    t:add(N.rest, tvb(4)):append_text(" (" .. why .. ")")
    t:add_proto_expert_info(noted, why)
  end
  return E
end
local function size_of(tvb, pinfo, offset)
  local a, b, c, d = byte(tvb:raw(offset, 4), 1, 4)
  local size = ((a * 256 + b) * 256 + c) * 256 + d
  if size > 104857600 then return tvb:len() - offset end
  return 4 + size
end
function proto.dissector(tvb, pinfo, tree)
  pinfo.cols.protocol = LABEL
  dissect_tcp_pdus(tvb, tree, 4, size_of, dissect)
  return tvb:len()
end

local table_of_ports, ports = DissectorTable.get("tcp.port"), proto.prefs.ports
table_of_ports:add(ports, proto)
function proto.prefs_changed()
  table_of_ports:remove(ports, proto)
  ports = proto.prefs.ports
  table_of_ports:add(ports, proto)
end

-- A message by itself, in a capture of link type USER0: a line with its name and version, then its bytes.

local alone = Proto(NAME .. "_message", "A message of " .. TITLE)
function alone.dissector(tvb, pinfo, tree)
  made, unpacked_bytes, T, E = 0, 0, tvb, tvb:len()
  B = tvb:raw(0, E)
  local name, version, at = B:match("^(%w+) (%d+)\n()")
  local number = name and M[name] and M[name][tonumber(version)]
  add, range = tree.add, tvb.range
  local t = tree:add(alone, tvb())
  if number then
    finish(t, pinfo, pcall(body, t, S[number], at - 1))
  else
    t:add_proto_expert_info(noted, "no line with the name and version of a message")
  end
  pinfo.cols.info = number and name .. " v" .. version or "?"
  return E
end
DissectorTable.get("wtap_encap"):add(wtap.USER0, alone)
