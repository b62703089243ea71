// LDAP against Debian's server: search, authentication, and protection of forbidden addresses.
import { createServer, type Server, type Socket } from "node:net"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { systemClock } from "../../src/kernel/clock.ts"
import type { DirectorySearch } from "../../src/kernel/port/directory.ts"
import { parseAllowedOutbound } from "../../src/kernel/setting/allow-list.ts"
import { createDirectories } from "../../src/notify/ldap.ts"
import { freePort } from "../support/latchkey.ts"
import { certificate } from "../support/mail-certificate.ts"
import { needs } from "../support/prerequisite.ts"
import { admin, base, directoryHost, type Slapd, startSlapd } from "../support/slapd.ts"

const services = { resolve: async () => ["127.0.0.1"], clock: systemClock }
const allow = [parseAllowedOutbound("127.0.0.1") ?? { host: "" }]
const directories = createDirectories({ ...services, allow })

const directoryAddress = { startTls: false, rootCa: certificate, timeoutMs: 60_000 }
const ada = {
  uid: "ada",
  cn: "Ada Lovelace",
  sn: "Lovelace",
  givenName: "Ada",
  mail: "ada@example.com",
  userPassword: "Ada-secret-1",
}
const adaDn = `uid=ada,${base}`

const searchAt = (servers: readonly string[], more: Partial<DirectorySearch> = {}) => ({
  ...directoryAddress,
  servers,
  bindDn: admin.dn,
  bindPassword: admin.password,
  baseDn: base,
  objectClasses: ["inetOrgPerson"],
  filters: ["uid", "mail"],
  name: "ada",
  attributes: ["uid", "mail", "entryUUID"],
  ...more,
})

describe.runIf(needs("slapd"))("a directory", () => {
  let slapd: Slapd
  let tls: string
  let plain: string
  beforeAll(async () => {
    // Ten thousand users, one of whom has a name full of filter metacharacters.
    const crowd = Array.from({ length: 10_000 }, (_, at) => ({
      uid: `p${at}`,
      cn: `Person ${at}`,
      sn: "Person",
      mail: `p${at}@example.com`,
      userPassword: `Secret-${at}`,
    }))
    const odd = { uid: "odd*)(uid=\\ö", cn: "Odd", sn: "Odd", userPassword: "Odd-secret-1" }
    slapd = await startSlapd([ada, odd, ...crowd])
    tls = `ldaps://${directoryHost}:${slapd.tlsPort}`
    plain = `ldap://${directoryHost}:${slapd.port}`
  })
  afterAll(() => slapd?.stop())

  test.each([
    ["LDAPS", () => ({ servers: [tls] })],
    ["StartTLS", () => ({ servers: [plain], startTls: true })],
    ["no encryption", () => ({ servers: [plain] })],
  ])("finds one of ten thousand users and authenticates them, with %s", async (_, at) => {
    const found = await directories.find(searchAt([], at()))
    expect(found).toMatchObject({ dn: adaDn, values: { uid: ["ada"], mail: ["ada@example.com"] } })
    expect(found?.values.entryuuid?.[0]).toMatch(/^[\da-f-]{36}$/)
    const own = { ...directoryAddress, ...at() }
    const proof = { name: adaDn, password: ada.userPassword }
    expect(await directories.authenticate(own, proof)).toBe(true)
    expect(await directories.authenticate(own, { ...proof, password: "Wrong" })).toBe(false)
  })

  test("finds by any of the attributes, in any case", async () => {
    for (const name of ["ADA", "ada@example.com", "Ada@Example.COM"]) {
      expect(await directories.find(searchAt([tls], { name }))).toMatchObject({ dn: adaDn })
    }
  })

  test.each(["*", "a*", "ada)(uid=*", "*)(objectClass=*", "ada\0", "\\61da", ")(|(uid=*"])(
    "treats %j as a plain name",
    async (name) => {
      expect(await directories.find(searchAt([tls], { name }))).toBeUndefined()
    },
  )

  test("finds a user whose name is full of metacharacters", async () => {
    const found = await directories.find(searchAt([tls], { name: "odd*)(uid=\\ö" }))
    expect(found?.values.uid).toEqual(["odd*)(uid=\\ö"])
  })

  test("finds no user if several match", async () => {
    const several = { filters: ["sn"], name: "Person" }
    expect(await directories.find(searchAt([tls], several))).toBeUndefined()
  })

  test("rejects an empty password and an empty bind name", async () => {
    for (const [name, password] of [
      [adaDn, ""],
      ["", "anything"],
      ["EXTERNAL", "anything"],
      ["PLAIN", "anything"],
      [`uid=nobody,${base}`, "anything"],
    ] as const) {
      expect(
        await directories.authenticate({ ...directoryAddress, servers: [tls] }, { name, password }),
      ).toBe(false)
    }
  })

  test("is contacted through another server if one is down, and not twice", async () => {
    const servers = [`ldaps://${directoryHost}:${await freePort()}`, tls]
    expect(await directories.find(searchAt(servers))).toMatchObject({ dn: adaDn })
    const proof = { name: adaDn, password: "Wrong" }
    expect(await directories.authenticate({ ...directoryAddress, servers }, proof)).toBe(false)
  })

  test.each([
    ["whose certificate nobody vouches for", () => ({ servers: [tls], rootCa: "" })],
    [
      "whose certificate is another's",
      () => ({ servers: [tls.replace(directoryHost, "ldap.example.com")] }),
    ],
    [
      "whose certificate is another's, with StartTLS",
      () => ({
        servers: [plain.replace(directoryHost, "ldap.example.com")],
        startTls: true,
      }),
    ],
    [
      "whose certificate nobody vouches for, with StartTLS",
      () => ({ servers: [plain], startTls: true, rootCa: "" }),
    ],
  ])("is not contacted %s", async (_, at) => {
    await expect(directories.find(searchAt([], at()))).rejects.toThrow(/certificate|altname|self/i)
  })

  test("reports configuration errors", async () => {
    const wrong = [{ bindPassword: "wrong" }, { baseDn: "dc=nowhere" }, { bindPassword: "" }]
    for (const more of wrong) {
      await expect(directories.find(searchAt([tls], more))).rejects.toThrow(/^ldaps:.*: /)
    }
  })

  test("is not contacted outside the internet unless that is allowed", async () => {
    const guarded = createDirectories({ ...services, allow: [] })
    await expect(guarded.find(searchAt([tls]))).rejects.toThrow("outbound_allow")
  })
})

describe("a malicious server", () => {
  const servers: Server[] = []
  const sockets: Socket[] = []
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy()
    for (const server of servers.splice(0)) server.close()
  })
  const serving = (talk: (socket: Socket) => void) =>
    new Promise<string>((resolve) => {
      const server = createServer((socket) => {
        sockets.push(socket)
        socket.on("error", () => undefined)
        talk(socket)
      })
      servers.push(server)
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address ? address.port : 0
        resolve(`ldap://directory.example.com:${port}`)
      })
    })

  test("does not respond", async () => {
    const silent = await serving(() => undefined)
    const asked = directories.find(searchAt([silent], { timeoutMs: 300 }))
    await expect(asked).rejects.toThrow("no response within 0.3 seconds")
  })

  test("sends an endless message", async () => {
    // The head of a message of one gigabyte, and its body.
    const endless = await serving((socket) => {
      socket.once("data", () => {
        socket.write(Buffer.from([0x30, 0x84, 0x40, 0, 0, 0]))
        const more = () => {
          while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
        }
        socket.on("drain", more)
        more()
      })
    })
    await expect(directories.find(searchAt([endless]))).rejects.toThrow("larger than 1048576 bytes")
  })

  test("speaks another resource", async () => {
    const other = await serving((socket) => socket.end("HTTP/1.1 200 OK\r\n\r\n"))
    await expect(directories.find(searchAt([other], { timeoutMs: 1000 }))).rejects.toThrow()
  })

  test("closes the connection", async () => {
    const gone = await serving((socket) => socket.destroy())
    await expect(directories.find(searchAt([gone], { timeoutMs: 1000 }))).rejects.toThrow()
  })
})
