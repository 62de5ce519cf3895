// A part of sarama when it is built: its codecs are private.
package sarama

func conformBody(key, version int16, isResponse bool) protocolBody {
	if isResponse {
		return allocateResponseBody(key, version)
	}
	return allocateBody(key, version)
}

// ConformVersions says which versions of a message sarama takes for valid.
func ConformVersions(key int16, isResponse bool) (lowest, highest int16, ok bool) {
	for version := int16(0); version < 100; version++ {
		if body := conformBody(key, version, isResponse); body != nil && body.isValidVersion() {
			if !ok {
				lowest, ok = version, true
			}
			highest = version
		}
	}
	return lowest, highest, ok
}

// ConformReencode decodes a body and encodes it again.
func ConformReencode(key, version int16, isResponse bool, data []byte) ([]byte, error) {
	body := conformBody(key, version, isResponse)
	if err := versionedDecode(data, body, version, nil); err != nil {
		return nil, err
	}
	return encode(body, nil)
}
