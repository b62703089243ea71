import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { checkPassword } from "../../../src/domain/credential/commands.ts"
import { parseForeignHash } from "../../../src/domain/credential/foreign/formats.ts"
import { importPassword } from "../../../src/domain/credential/new-password.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { openProvider, type Provider } from "../../oauth/provider.ts"

/** Created by the original systems: the examples of hashcat, OpenSSL, and Python. */
const hashcat = {
  "bcrypt $2a$": "$2a$05$LhayLxezLhK1LhWvKxCyLOj0j1u.Kj0jZ0pEmm134uzrQlFvQJLF6",
  "bcrypt $2y$": "$2y$05$LhayLxezLhK1LhWvKxCyLOj0j1u.Kj0jZ0pEmm134uzrQlFvQJLF6",
  scrypt: "$scrypt$ln=14,r=8,p=1$c2FsdHNhbHRzYWx0$cOXsVreGS9KwEZZRJWKqTGsYKMzbQQPihKfdomVsYj4",
  "pbkdf2 with SHA-1": "$pbkdf2$1000$c2FsdHNhbHRzYWx0$uqXnhoFJ975ZLYvOikp/AIKVwmI",
  "pbkdf2 with SHA-256":
    "$pbkdf2-sha256$1000$c2FsdHNhbHRzYWx0$DKfggr4BkK86OAooznRbnB7.e8LfADbDN8x2uip5Cqo",
  "pbkdf2 with SHA-512":
    "$pbkdf2-sha512$1000$c2FsdHNhbHRzYWx0$" +
    "y2U.lsnc3AlcTldTlW.IOLnUImTLFCu558IcSLM7YB9UeAfzKd79Jv7PNB0R740fbZZa2.JH9PJrryNB/NBhjA",
  md5crypt: "$1$28772684$iEwNOgGugqO9.bIz5sk8k/",
  "sha256crypt with rounds":
    "$5$rounds=5000$GX7BopJZJxPc/KEK$le16UF8I2Anb.rOrn22AUPWvzUETDGefUmAV8AZkGcD",
  sha512crypt:
    "$6$52450745$" +
    "k5ka2p8bFuSmoVT1tzOyyuaREkkKBcCNqoDKzYiJL9RaE8yMnPgh2XzzF0NDrUhgrcLwg78xs1w5pJiypEdFX/",
  phpass: "$P$984478476IagS59wHZvyQMArzfx58u.",
  "Drupal 7": "$S$C33783772bRXEx1aCsvY.dqgaaSu76XmVlKrW9Qu8IQlvxHlmzLf",
  "plain MD5": "8743b52063cd84097a65d1633f5c74f5",
  "MD5 behind a salt": "$md5salted-prefix$pepper$dc419fc4a3e167f5c52a6d861dad2feb",
  "SHA-256 before a salt":
    "$sha256salted-suffix$pepper$579e403499118c6783779f75a08efc8540ec8d3d9231b98a5603e9f59ae80acb",
  "the same with its salt in base64":
    "$sha256salted-suffix-b64$cGVwcGVy$" +
    "579e403499118c6783779f75a08efc8540ec8d3d9231b98a5603e9f59ae80acb",
} as const

test.each(Object.entries(hashcat))("%s is verified", async (_, hash) => {
  expect(await parseForeignHash(hash)?.verify("hashcat")).toBe(true)
  expect(await parseForeignHash(hash)?.verify("hashcaT")).toBe(false)
  expect(await parseForeignHash(hash)?.verify("hashcat ")).toBe(false)
})

test.each([
  [
    "$6$abcdefgh$" +
      "5LxUP0PeogzB7uZ/NYpOgLbmqUVEs6Dou/CpZhFNaxlqfC8g.9l/uWLvvuNJ33l6OMBCDjACxAO.nETtVc47o0",
    "a rather long password that goes on for more than sixty-four bytes, yes it does",
  ],
  ["$5$xy$coX5C3kzqkD03cMIAy6JCOwYjDcbuVf7q5ZqX8uWyL3", "p"],
  ["$1$abc$ofwofD1l9CNcsnratNwo.1", "longer than sixteen bytes"],
])("passwords shorter and longer than a block are verified: %s", async (hash, plain) => {
  expect(await parseForeignHash(hash)?.verify(plain)).toBe(true)
})

// Some libraries set unused bits at the end of a salt or an output.
test.each([
  "$2a$05$LhayLxezLhK1LhWvKxCyLPj0j1u.Kj0jZ0pEmm134uzrQlFvQJLF6",
  "$2y$05$LhayLxezLhK1LhWvKxCyLdj0j1u.Kj0jZ0pEmm134uzrQlFvQJLF6",
  "$2b$05$LhayLxezLhK1LhWvKxCyLOj0j1u.Kj0jZ0pEmm134uzrQlFvQJLF9",
])("bcrypt with spare bits is verified: %s", async (hash) => {
  expect(await parseForeignHash(hash)?.verify("hashcat")).toBe(true)
  expect(await parseForeignHash(hash)?.verify("hashcaT")).toBe(false)
})

test.each([
  "$2b$15$LhayLxezLhK1LhWvKxCyLOj0j1u.Kj0jZ0pEmm134uzrQlFvQJLF6",
  "$scrypt$ln=18,r=8,p=1$c2FsdHNhbHRzYWx0$cOXsVreGS9KwEZZRJWKqTGsYKMzbQQPihKfdomVsYj4",
  "$scrypt$ln=14,r=8,p=5$c2FsdHNhbHRzYWx0$cOXsVreGS9KwEZZRJWKqTGsYKMzbQQPihKfdomVsYj4",
  "$pbkdf2-sha256$1300001$c2FsdHNhbHRzYWx0$DKfggr4BkK86OAooznRbnB7.e8LfADbDN8x2uip5Cqo",
  "$5$rounds=200001$GX7BopJZJxPc/KEK$le16UF8I2Anb.rOrn22AUPWvzUETDGefUmAV8AZkGcD",
  "$P$G84478476IagS59wHZvyQMArzfx58u.",
  "$S$z33783772bRXEx1aCsvY.dqgaaSu76XmVlKrW9Qu8IQlvxHlmzLf",
])("the import rejects a hash that would stall the service: %s", (hash) => {
  expect(() => importPassword(hash, false)).toThrow(/too expensive to check/)
})

test.each(["", "secret", "$2b$99$x", "$1$onlysalt", "$P$9short", "$7$unknown$x", "zz".repeat(16)])(
  "the import rejects an invalid hash: %j",
  (hash) => expect(() => importPassword(hash, false)).toThrow(/the password hash must be argon2/),
)

describe("a user with an imported hash", () => {
  let provider: Provider
  beforeEach(async () => {
    provider = await openProvider()
  })
  afterEach(() => provider.close())

  const hashOf = (id: string) => {
    const state = provider.store.state(provider.cx(), user, id)
    return "kind" in state && state.kind === "human" ? (state.password?.hash ?? "") : ""
  }

  test.each(Object.entries(hashcat))(
    "signs in and then has an Argon2id hash: %s",
    async (_, hash) => {
      const cx = provider.cx()
      await createUser(cx, "kim", {
        kind: "human",
        orgId: provider.setup.orgId,
        userName: "kim",
        profile: { givenName: "Kim", familyName: "K" },
        email: { value: "kim@example.net", verified: true },
        password: importPassword(hash, false),
      })
      expect(await checkPassword(cx, "kim", "wrong")).toBe("wrong")
      expect(hashOf("kim")).toBe(hash)
      expect(await checkPassword(cx, "kim", "hashcat")).toBe("ok")
      expect(hashOf("kim")).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
      expect(await checkPassword(cx, "kim", "hashcat")).toBe("ok")
    },
  )
})
