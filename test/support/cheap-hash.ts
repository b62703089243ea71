// Loaded before each test file. A password costs 19 MiB and two passes in production; tests that
// only need somebody to be signed in would spend half of their time on it. Here the library itself
// is replaced: it hashes with the least cost and still writes the production cost into the hash, so
// that everything above it takes the same paths. Hashes made elsewhere cost what they say.
import { type Options, hash as realHash, verify as realVerify } from "@node-rs/argon2"

const production = "$m=19456,t=2,p=1$"
const least = "$m=8,t=1,p=1$"

/** Its hashes have a salt that begins so; in base64 those are four characters of their own. */
const mark = "tst"
const encodedMark = Buffer.from(mark).toString("base64")

function hash(plain: string, options: Options = {}): Promise<string> {
  const isProduction = options.memoryCost === 19_456 && options.timeCost === 2
  if (!isProduction) return realHash(plain, options)
  const salt = Buffer.concat([Buffer.from(mark), crypto.getRandomValues(new Uint8Array(13))])
  const cheap = { memoryCost: 8, timeCost: 1, parallelism: 1, salt }
  return realHash(plain, cheap).then((made) => made.replace(least, production))
}

function verify(hashed: string, plain: string): Promise<boolean> {
  const isCheap = hashed.includes(`${production}${encodedMark}`)
  return realVerify(isCheap ? hashed.replace(production, least) : hashed, plain)
}

Bun.plugin({
  name: "cheap-hash",
  setup: ({ module }) => {
    module("@node-rs/argon2", () => ({ exports: { hash, verify }, loader: "object" }))
  },
})
