// Loaded before each test file. A password hash costs 19 MiB and two passes in production; tests
// that only need a signed-in user would spend half of their time on it. This replaces the library
// itself: it hashes at the lowest cost and still writes the production cost into the hash, so that
// all other code takes the same paths. Hashes created elsewhere have their stated cost.
import { type Options, hash as realHash, verify as realVerify } from "@node-rs/argon2"

const production = "$m=19456,t=2,p=1$"
const least = "$m=8,t=1,p=1$"

/** The start of the salt of its hashes; four characters in base64. */
const mark = "tst"
const encodedMark = Buffer.from(mark).toString("base64")

function hash(plain: string, options: Options = {}): Promise<string> {
  const isProduction = options.memoryCost === 19_456 && options.timeCost === 2
  if (!isProduction) return realHash(plain, options)
  const salt = Buffer.concat([Buffer.from(mark), crypto.getRandomValues(new Uint8Array(13))])
  const cheap = { memoryCost: 8, timeCost: 1, parallelism: 1, salt }
  return realHash(plain, cheap).then((created) => created.replace(least, production))
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
