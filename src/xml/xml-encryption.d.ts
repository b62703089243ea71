/** The parts of the library that we use; it has no types of its own. */
declare module "xml-encryption" {
  type Done = (error: Error | null, text: string) => void

  type EncryptOptions = {
    readonly rsa_pub: string
    readonly pem: string
    readonly encryptionAlgorithm: string
    readonly keyEncryptionAlgorithm: string
    readonly disallowEncryptionWithInsecureAlgorithm: boolean
    readonly warnInsecureAlgorithm: boolean
  }

  type DecryptOptions = {
    readonly key: import("node:crypto").KeyObject
    readonly disallowDecryptionWithInsecureAlgorithm: boolean
    readonly warnInsecureAlgorithm: boolean
  }

  export function encrypt(content: string, options: EncryptOptions, done: Done): void

  /** Reads a parsed document as it is, and parses a text. */
  export function decrypt(xml: object | string, options: DecryptOptions, done: Done): void
}
