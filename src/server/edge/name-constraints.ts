import { isIP } from "node:net"

/** The number of the extension (RFC 5280 §4.2.1.10). */
export const nameConstraints = "2.5.29.30"

/**
 * Its value: permits one host, with the names below it, and shuts out every address; or one address
 * and no name. Of a kind that is not mentioned, everything would be allowed.
 */
export function constraintsFor(host: string): ArrayBuffer {
  const isName = isIP(host) === 0
  const permitted = isName ? [nameTree(host)] : [addressTree(bytesOf(host), 0xff)]
  const shut = isName
    ? [addressTree(new Uint8Array(4), 0), addressTree(new Uint8Array(16), 0)]
    : [nameTree(""), addressTree(new Uint8Array(isIP(host) === 4 ? 16 : 4), 0)]
  const value = der(0x30, der(0xa0, ...permitted), der(0xa1, ...shut))
  return new Uint8Array(value).buffer
}

/** A GeneralSubtree around a dNSName. */
const nameTree = (host: string) => der(0x30, der(0x82, Buffer.from(host)))

/** The same around an iPAddress, which has its mask behind it. */
const addressTree = (address: Uint8Array, mask: number) =>
  der(0x30, der(0x87, Buffer.from(address), Buffer.alloc(address.length, mask)))

/** X.690 §8.1.3: a tag, a length, and what it holds. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

/** An address as its 4 or 16 bytes. */
function bytesOf(address: string): Uint8Array {
  if (isIP(address) === 4) return Uint8Array.from(address.split("."), Number)
  // The URL parser has already brought it into its one spelling, but for the gap.
  const [head = "", tail] = address.split("::")
  const words = (text: string | undefined) => (text ? text.split(":") : [])
  const gap = tail === undefined ? 0 : 8 - words(head).length - words(tail).length
  const all = [...words(head), ...Array<string>(gap).fill("0"), ...words(tail)]
  return Uint8Array.from(
    all.flatMap((each) => {
      const word = Number.parseInt(each, 16)
      return [word >> 8, word & 0xff]
    }),
  )
}
