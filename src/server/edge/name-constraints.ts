import { isIP } from "node:net"

/** The object identifier of the extension (RFC 5280 §4.2.1.10). */
export const nameConstraints = "2.5.29.30"

/**
 * The value of the extension: permits one host with its subdomains and excludes all IP addresses,
 * or permits one IP address and no names. Name types that are not mentioned would be unrestricted.
 */
export function encodeConstraints(host: string): ArrayBuffer {
  const isName = isIP(host) === 0
  const permitted = isName ? [nameTree(host)] : [addressTree(parseAddress(host), 0xff)]
  const shut = isName
    ? [addressTree(new Uint8Array(4), 0), addressTree(new Uint8Array(16), 0)]
    : [nameTree(""), addressTree(new Uint8Array(isIP(host) === 4 ? 16 : 4), 0)]
  const value = encodeDer(0x30, encodeDer(0xa0, ...permitted), encodeDer(0xa1, ...shut))
  return new Uint8Array(value).buffer
}

/** A GeneralSubtree with a dNSName. */
const nameTree = (host: string) => encodeDer(0x30, encodeDer(0x82, Buffer.from(host)))

/** A GeneralSubtree with an iPAddress and its mask. */
const addressTree = (address: Uint8Array, mask: number) =>
  encodeDer(0x30, encodeDer(0x87, Buffer.from(address), Buffer.alloc(address.length, mask)))

/** X.690 §8.1.3: tag, length and content. */
function encodeDer(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

/** An IP address as 4 or 16 bytes. */
function parseAddress(address: string): Uint8Array {
  if (isIP(address) === 4) return Uint8Array.from(address.split("."), Number)
  // The URL parser has already normalized the address, except for "::".
  const [head = "", tail] = address.split("::")
  const groupsOf = (text: string | undefined) => (text ? text.split(":") : [])
  const gap = tail === undefined ? 0 : 8 - groupsOf(head).length - groupsOf(tail).length
  const all = [...groupsOf(head), ...Array<string>(gap).fill("0"), ...groupsOf(tail)]
  return Uint8Array.from(
    all.flatMap((each) => {
      const word = Number.parseInt(each, 16)
      return [word >> 8, word & 0xff]
    }),
  )
}
