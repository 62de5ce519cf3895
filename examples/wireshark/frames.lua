-- How the dissector finds frames, and which message is in each. Part of each file that dissector.py writes, the last.

local all = {}
for _, f in pairs(N) do all[#all + 1] = f end
for _, f in ipairs(F) do all[#all + 1] = f end
proto.fields = all

-- Frames. A request says what it is; a response has the correlation id of a request of its connection.

local asked, answers, replied, raw, packet, mine = {}, {}, {}, {}, 0, nil
function proto.init() asked, answers, replied, raw, packet = {}, {}, {}, {}, 0 end
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
local function frame(t, pinfo, is_request, key, label)
  t:add(N.length, T(0, 4))
  local found, api, version, id, what
  if is_request then
    found, version, id = fixed(4, 2, true), fixed(6, 2, true), fixed(8, 4, true)
    api = API[found]
    if api and api.q[version] and not pinfo.visited then
      asked[key .. id] = { api = api, version = version, number = pinfo.number }
      if found == 17 and version == 0 and api.name == "SaslHandshake" then raw[key] = true end
    end
    local reply = replied[pinfo.number .. ":" .. id]
    if reply then t:add(N.response, reply):set_generated() end
  else
    id = fixed(4, 4, true)
    local mark = pinfo.number .. ":" .. id
    local it = answers[mark]
    if not it and not pinfo.visited then
      it = asked[key .. id]
      asked[key .. id] = nil
      answers[mark] = it
      if it then replied[it.number .. ":" .. id] = pinfo.number end
    end
    if it then
      api, version = it.api, it.version
      t:add(N.request, it.number):set_generated()
    end
  end
  local of, headers = api and (is_request and api.q or api.a), is_request and "q" or "a"
  if not of or not of[version] then
    local why = is_request and "no request of API key " .. found .. " and version " .. version .. " is known"
      or "no request of this correlation id was seen"
    if raw[key] then why = "a token of SASL" end
    t:add(N.rest, T(4)):append_text(" (" .. why .. ")")
    t:add_proto_expert_info(noted, why)
    label(is_request and "request" or "response", why)
    return
  end
  label(api.name .. (is_request and " request" or " response") .. " v" .. version, "correlation id " .. id)
  if not mine(t) then return end
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
mine = function(t) -- whether anything wants the fields
  own = own or Dissector.get(NAME)
  return t.visible or t:referenced(own)
end
local function dissect(tvb, pinfo, tree)
  if packet ~= pinfo.number then
    packet, made = pinfo.number, 0
    pinfo.cols.info:clear()
  end
  T, E = tvb, tvb:len()
  B = tvb:raw(0, E)
  local is_request = pinfo.dst_port == pinfo.match_uint
  local client, broker = tostring(pinfo.src) .. " " .. pinfo.src_port, tostring(pinfo.dst) .. " " .. pinfo.dst_port
  if not is_request then client, broker = broker, client end
  add, range = tree.add, tvb.range
  local t = tree:add(proto, tvb())
  local function label(what, more)
    pinfo.cols.info:append(what .. "  ")
    t:append_text(", " .. what .. ", " .. more)
  end
  finish(t, pinfo, pcall(frame, t, pinfo, is_request, client .. " " .. broker .. " ", label))
  return E
end
local function size_of(tvb, pinfo, offset)
  local size = tvb(offset, 4):int()
  if size < 0 or size > 104857600 then return tvb:len() - offset end
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
  made, T, E = 0, tvb, tvb:len()
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
