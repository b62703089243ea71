import { createCipheriv, createDecipheriv, createSecretKey } from "node:crypto"

export const nonceLength = 24
const tagLength = 16

/** A key, prepared for encryption and decryption. */
export type Cipher = {
  /** Returns nonce, ciphertext and tag in one buffer. The nonce must be random. */
  readonly encrypt: (nonce: Uint8Array, plain: Uint8Array, context: string) => Buffer
  /** Returns undefined unless `box` is exactly what `encrypt` returned for the same `context`. */
  readonly decrypt: (box: Uint8Array, context: string) => Buffer | undefined
}

/**
 * XAES-256-GCM (C2SP): AES-256-GCM with a key derived for each message from half of a 192-bit
 * nonce. Plain AES-GCM with random nonces must change its key after 2^32 messages, which a busy
 * token endpoint reaches within months; here the limit is 2^80.
 */
export function createXaes(key: Uint8Array): Cipher {
  const ecb = createCipheriv("aes-256-ecb", createSecretKey(key), null)
  ecb.setAutoPadding(false)
  const fixed = fixedBlocks(doubleBlock(ecb.update(Buffer.alloc(16))))
  const messageKey = (nonce: Uint8Array) => ecb.update(derivationBlocks(fixed, nonce))

  return {
    encrypt: (nonce, plain, context) => {
      const cipher = createCipheriv("aes-256-gcm", messageKey(nonce), nonce.subarray(12))
      cipher.setAAD(Buffer.from(context))
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
    },
    decrypt: (box, context) => {
      if (box.length < nonceLength + tagLength) return undefined
      const nonce = box.subarray(0, nonceLength)
      const decipher = createDecipheriv("aes-256-gcm", messageKey(nonce), nonce.subarray(12))
      decipher.setAAD(Buffer.from(context))
      decipher.setAuthTag(box.subarray(-tagLength))
      const plain = decipher.update(box.subarray(nonceLength, -tagLength))
      // `final` throws for an invalid tag, which is an expected result here.
      try {
        return Buffer.concat([plain, decipher.final()])
      } catch {
        return undefined
      }
    },
  }
}

/**
 * CMAC over two counter blocks: NIST SP 800-108r1 in the fixed form of the specification, with the
 * subkey already applied, and zeros in place of the nonce.
 */
function fixedBlocks(subkey: Uint8Array): Uint8Array {
  const blocks = new Uint8Array(32)
  blocks.set([0, 1, 0x58, 0], 0)
  blocks.set([0, 2, 0x58, 0], 16)
  return blocks.map((byte, index) => byte ^ (subkey[index % 16] ?? 0))
}

/** Adds the first twelve bytes of the nonce to each counter block. */
function derivationBlocks(fixed: Uint8Array, nonce: Uint8Array): Uint8Array {
  const blocks = fixed.slice()
  for (let index = 0; index < 12; index++) {
    const byte = nonce[index] ?? 0
    for (const at of [index + 4, index + 20]) blocks[at] = (blocks[at] ?? 0) ^ byte
  }
  return blocks
}

/** Doubling in GF(2^128), for the first CMAC subkey (RFC 4493 §2.3). */
function doubleBlock(block: Uint8Array): Uint8Array {
  const carry = (block[0] ?? 0) >> 7
  return block.map((byte, index) => {
    const next = block[index + 1]
    const low = next === undefined ? carry * 0x87 : next >> 7
    return ((byte << 1) & 0xff) ^ low
  })
}
