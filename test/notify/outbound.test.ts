import { networkInterfaces } from "node:os"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { manualClock, systemClock } from "../../src/kernel/clock.ts"
import { type AllowedOutbound, parseAllowedOutbound } from "../../src/kernel/setting/allow-list.ts"
import { isInternalAddress, isPublicAddress } from "../../src/notify/address-kind.ts"
import { createOutbound, createReachCheck } from "../../src/notify/outbound.ts"

const allowedHosts = (...texts: readonly string[]): readonly AllowedOutbound[] =>
  texts.map((text) => parseAllowedOutbound(text) ?? { host: "nothing" })

/** An HTTP client that sends nothing: it returns the destination of the connection. */
function traceConnections(addresses: readonly string[], ...allow: readonly string[]) {
  const sent: { url: string; init: RequestInit }[] = []
  const outbound = createOutbound({
    clock: systemClock,
    resolve: async () => addresses,
    send: (async (url: URL, init: RequestInit) => {
      sent.push({ url: String(url), init })
      return new Response("ok")
    }) as never,
    allow: allowedHosts(...allow),
  })
  return { outbound, sent }
}

const postTo = (url: string) => ({ url, method: "POST", body: "a=b" }) as const

describe("an address outside the internet is not called", () => {
  test.each([
    ["127.0.0.1", "this machine"],
    ["127.255.255.254", "this machine, elsewhere"],
    ["0.0.0.0", "this machine, unspecified"],
    ["10.0.0.1", "a private network"],
    ["172.16.0.1", "a private network"],
    ["172.31.255.255", "the end of a private network"],
    ["192.168.1.1", "a private network"],
    ["169.254.169.254", "the metadata of a cloud"],
    ["100.64.0.1", "the network of a carrier"],
    ["192.0.0.8", "a protocol's own"],
    ["198.18.0.1", "benchmarks"],
    ["224.0.0.1", "many at once"],
    ["240.0.0.1", "nothing yet"],
    ["255.255.255.255", "everybody"],
    ["::1", "this machine"],
    ["::", "this machine, unspecified"],
    ["::ffff:127.0.0.1", "this machine, mapped"],
    ["::ffff:7f00:1", "this machine, mapped and in hexadecimal"],
    ["::ffff:10.0.0.1", "a private network, mapped"],
    ["::7f00:1", "this machine, in a form of long ago"],
    ["64:ff9b::7f00:1", "this machine, translated"],
    ["2002:7f00:1::", "this machine, tunnelled"],
    ["fd00::1", "a private network"],
    ["fc00::1", "a private network"],
    ["fe80::1", "the next cable"],
    ["fe80::1%eth0", "the next cable, named"],
    ["fec0::1", "a site of long ago"],
    ["ff02::1", "everybody on the cable"],
    ["2001:db8::1", "an example"],
    ["2001::1", "a tunnel"],
    ["not an address", "nothing"],
  ])("%s: %s", async (address) => {
    const { outbound, sent } = traceConnections([address])
    await expect(outbound(postTo("https://app.example.com/"))).rejects.toThrow("outbound_allow")
    expect(sent).toEqual([])
  })
})

test.each(["93.184.216.34", "172.32.0.1", "100.63.255.255", "2606:2800:220:1::1"])(
  "%s is a host on the internet",
  (address) => expect(isPublicAddress(address)).toBe(true),
)

describe("an unusual spelling of an address is normalized first", () => {
  test.each([
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://[::ffff:127.0.0.1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://①②⑦.0.0.1/",
    "http://169.254.169.254/latest/meta-data/",
  ])("%s", async (url) => {
    const { outbound, sent } = traceConnections(["93.184.216.34"])
    await expect(outbound(postTo(url))).rejects.toThrow("not a host on the internet")
    expect(sent).toEqual([])
  })
})

test.each([
  ["ftp://app.example.com/", "https://"],
  ["file:///etc/passwd", "https://"],
  ["app.example.com", "https://"],
  ["https://user:pw@app.example.com/", "password"],
])("%s is not called", async (url, reason) => {
  const { outbound, sent } = traceConnections(["93.184.216.34"])
  await expect(outbound(postTo(url))).rejects.toThrow(reason)
  expect(sent).toEqual([])
})

test("the connection goes to the checked address, with its host name", async () => {
  const { outbound, sent } = traceConnections(["10.0.0.1", "2606:2800:220:1::1", "93.184.216.34"])
  await outbound(postTo("https://App.Example.com:8443/out?a=b"))
  expect(sent[0]?.url).toBe("https://[2606:2800:220:1::1]:8443/out?a=b")
  expect(sent[0]?.init).toMatchObject({
    headers: { host: "app.example.com:8443" },
    tls: { serverName: "app.example.com" },
    redirect: "manual",
    keepalive: false,
  })
})

test("a host without an address is not called", async () => {
  await expect(traceConnections([]).outbound(postTo("https://app.example.com/"))).rejects.toThrow(
    "has no address",
  )
})

describe("addresses allowed by name or IP are called", () => {
  test.each([
    ["10.1.0.0/16", "10.1.2.3", true],
    ["10.1.0.0/16", "10.2.0.1", false],
    ["127.0.0.1", "127.0.0.1", true],
    ["fd00::/8", "fd12::1", true],
    ["app.example.com", "10.9.9.9", true],
    ["APP.example.COM", "127.0.0.1", true],
    ["example.com", "10.9.9.9", false],
    ["other.example.com", "10.9.9.9", false],
  ])("%s: %s %s", async (allow, address, isCalled) => {
    const { outbound, sent } = traceConnections([address], allow)
    const call = outbound(postTo("https://app.example.com/"))
    await (isCalled ? call : expect(call).rejects.toThrow())
    expect(sent).toHaveLength(isCalled ? 1 : 0)
  })
})

describe("a private address that an administrator has allowed", () => {
  const inside = [
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "127.0.0.1",
    "::1",
    "fd12::1",
  ]
  const never = [
    "169.254.169.254",
    "169.254.1.1",
    "fe80::1",
    "fd00:ec2::254",
    "100.100.100.200",
    "0.0.0.0",
    "::",
    "224.0.0.1",
    "255.255.255.255",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "198.18.0.1",
    "::ffff:100.64.0.1",
    "::ffff:6440:1",
    "not an address",
  ]
  const permitted = { ...postTo("http://nas.lan:5000/out"), isPrivate: true }

  test.each(inside)("%s is called for this request only", async (address) => {
    const { outbound, sent } = traceConnections([address])
    await expect(outbound({ ...permitted, isPrivate: false })).rejects.toThrow("outbound_allow")
    await outbound(permitted)
    expect(sent.map(({ url }) => new URL(url).port)).toEqual(["5000"])
    await expect(outbound(postTo(permitted.url))).rejects.toThrow("outbound_allow")
  })

  test.each(never)("%s is not called", async (address) => {
    const { outbound, sent } = traceConnections([address])
    await expect(outbound(permitted)).rejects.toThrow("outbound_allow")
    expect(sent).toEqual([])
  })

  const own = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  const ours = ["127.0.0.1", "127.8.8.8", "::1", ...own.map(({ address }) => address)]
  test.each(ours.filter(isInternalAddress))(
    "a port of this process at %s is not called",
    async (address) => {
      const parts = { clock: systemClock, resolve: async () => [address], allow: [] }
      const sent: URL[] = []
      const send = async (url: URL) => {
        sent.push(url)
        return new Response()
      }
      const outbound = createOutbound({ ...parts, ownPorts: [8080, 80], send } as never)
      for (const url of ["http://nas.lan:8080/", "http://nas.lan/", "http://nas.lan:80/"]) {
        await expect(outbound({ ...permitted, url })).rejects.toThrow("not a host on the internet")
        expect(await createReachCheck({ ...parts, ownPorts: [8080, 80] })(url)).toBe("forbidden")
      }
      await outbound({ ...permitted, url: "http://nas.lan:8081/" })
      expect(sent).toHaveLength(1)
    },
  )

  test("is checked at each resolution, and the checked address is called", async () => {
    const answers = [["10.0.0.1"], ["169.254.169.254"], ["10.0.0.2", "169.254.169.254"]]
    const sent: string[] = []
    const outbound = createOutbound({
      clock: systemClock,
      allow: [],
      resolve: async () => answers.shift() ?? [],
      send: async (url: URL) => {
        sent.push(url.hostname)
        return new Response()
      },
    } as never)
    await outbound(permitted)
    await expect(outbound(permitted)).rejects.toThrow()
    await outbound(permitted)
    expect(sent).toEqual(["10.0.0.1", "10.0.0.2"])
    expect(answers).toEqual([])
  })
})

describe("the network of an address", () => {
  const reach = (addresses: readonly string[], url = "http://nas.lan/", ...allow: string[]) =>
    createReachCheck({
      clock: systemClock,
      resolve: async () => addresses,
      allow: allowedHosts(...allow),
    })(url)

  test.each([
    ["93.184.216.34", "open"],
    ["10.0.0.1", "private_network"],
    ["127.0.0.1", "private_network"],
    ["fd12::1", "private_network"],
    ["169.254.169.254", "forbidden"],
    ["fe80::1", "forbidden"],
  ])("%s: %s", async (address, expected) => {
    expect(await reach([address])).toBe(expected)
    const host = address.includes(":") ? `[${address}]` : address
    expect(await reach([], `http://${host}/`)).toBe(expected)
    expect(await reach([address], undefined, "nas.lan")).toBe("open")
  })

  test("is unknown if a name has no address or DNS does not respond", async () => {
    expect(await reach([])).toBe("unknown_host")
    const lost = { clock: systemClock, allow: [], resolve: () => Promise.reject(new Error("gone")) }
    expect(await createReachCheck(lost)("http://nas.lan/")).toBe("unknown_host")
    const clock = manualClock(0)
    const silent = { clock, allow: [], resolve: () => new Promise<never>(() => {}) }
    const asked = createReachCheck(silent)("http://nas.lan/")
    clock.advance(5_000)
    expect(await asked).toBe("unknown_host")
  })
})

test.each(["", "*", "10.0.0.256", "10.0.0.0/33", "https://app.example.com", "a b", "*.internal"])(
  "%j can't be allowed",
  (text) => expect(parseAllowedOutbound(text)).toBeUndefined(),
)

test("slow requests are aborted, even during name resolution", async () => {
  const clock = manualClock(0)
  const never = () => new Promise<never>(() => {})
  for (const parts of [
    { resolve: never, send: never },
    { resolve: async () => ["93.184.216.34"], send: never },
  ]) {
    const outbound = createOutbound({ clock, allow: [], ...parts } as never)
    const call = outbound(postTo("https://app.example.com/"))
    clock.advance(4_999)
    const early = await Promise.race([call.catch(String), Promise.resolve("still waiting")])
    expect(early).toBe("still waiting")
    clock.advance(1)
    await expect(call).rejects.toThrow("within 5 seconds")
    const short = outbound({ ...postTo("https://app.example.com/"), timeoutMs: 1000 })
    clock.advance(1000)
    await expect(short).rejects.toThrow("within 1 seconds")
    const long = outbound({ ...postTo("https://app.example.com/"), timeoutMs: 3_600_000 })
    clock.advance(270_000)
    await expect(long).rejects.toThrow("within 270 seconds")
  }
})

describe("with a real server", () => {
  let server: ReturnType<typeof Bun.serve>
  const seen: string[] = []
  beforeAll(() => {
    server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        const { pathname } = new URL(request.url)
        seen.push(`${request.headers.get("host")}${pathname} ${await request.text()}`)
        if (pathname === "/large") return new Response("x".repeat(70_000))
        if (pathname === "/away") return Response.redirect(`${server.url}secret`)
        return new Response("thanks")
      },
    })
  })
  afterAll(() => server.stop(true))

  const outbound = createOutbound({
    clock: systemClock,
    resolve: async () => ["127.0.0.1"],
    send: fetch,
    allow: allowedHosts("app.example.com"),
  })
  const at = (path: string) => outbound(postTo(`http://app.example.com:${server.port}${path}`))

  test("a request is sent, and its response returned", async () => {
    expect(await at("/in")).toEqual({ status: 200, body: "thanks" })
    expect(seen).toContain(`app.example.com:${server.port}/in a=b`)
  })

  test("a redirect is returned, and not followed", async () => {
    expect(await at("/away")).toMatchObject({ status: 302 })
    expect(seen.join()).not.toContain("/secret")
  })

  test("a response that is too large is rejected", async () => {
    await expect(at("/large")).rejects.toThrow("larger than 65536 bytes")
    const url = `http://app.example.com:${server.port}/large`
    const most = (sizeMax: number) => outbound({ ...postTo(url), sizeMax })
    await expect(most(69_999)).rejects.toThrow("larger than 69999 bytes")
    expect((await most(70_000)).body).toHaveLength(70_000)
  })
})
