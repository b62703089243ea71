// How requests find their routes, whatever their host and scheme, and what becomes of failures.
import { describe, expect, test } from "vitest"
import { areaOf, type Serve } from "../../src/http/route.ts"
import { routerOf } from "../../src/http/router.ts"
import { routeOf } from "../../src/http/visit.ts"

const serve: Serve = async ({ request }, { group }) => {
  const { template } = routeOf(request) ?? {}
  return Response.json({ template, group, body: await request.text() })
}

const made = new Response("text", { status: 404, headers: { etag: "1" } })

const areas = [
  areaOf("area", {
    "/area": { group: "own" },
    "/area/:id/one": { group: "own" },
    "/area/:id/:part": { group: "own" },
    "/fails": {
      anywhere: () => {
        throw new Error("a secret of ours")
      },
    },
    "/fails/later": { anywhere: () => Promise.reject(new Error("a secret of ours")) },
    "/anywhere": { anywhere: () => made },
  }),
  areaOf("other", { "/*": { group: "other" } }),
]

const failures: string[] = []
const router = routerOf({
  areas: () => areas,
  serve,
  failed: async ({ url }, cause) => {
    if (url.search === "?twice") throw new Error("nothing can be shown")
    failures.push(`${url.pathname}: ${cause}`)
    return new Response("something went wrong", { status: 500 })
  },
})

const ask = (address: string, init: RequestInit = {}) => {
  const request = new Request(address, init)
  return router({ request, url: new URL(address), peer: () => "127.0.0.1" })
}

/** Elysia looks for the path behind the host, from a fixed character on. */
const hosts = ["a", "ab", "nas", "host", "id.example.com", "a:1", "[::1]", "[::1]:8080"]

describe.each(["http", "https"])("by %s", (scheme) => {
  test.each(hosts)(
    "the route of %s/area is found, and its body is not read ahead",
    async (host) => {
      const answer = await ask(`${scheme}://${host}/area?a=/b#/c`, { method: "POST", body: "a=b" })
      expect(await answer.json()).toEqual({ template: "/area", group: "own", body: "a=b" })
      const root = await ask(`${scheme}://${host}/`)
      expect(await root.json()).toMatchObject({ template: "/*" })
    },
  )
})

test.each([
  ["/area/", "/*"],
  ["/AREA", "/*"],
  ["//area", "/*"],
  ["/%61rea", "/*"],
  ["/area/1/one", "/area/:id/one"],
  ["/area/1/two", "/area/:id/:part"],
  ["/area/a%2Fb/one", "/area/:id/one"],
  ["/area/%ff/one", "/area/:id/one"],
  ["/area//one", "/*"],
  ["/area/1/one/", "/*"],
])("%s has the route %s, for every method", async (path, template) => {
  for (const method of ["GET", "POST", "OPTIONS", "PROPFIND"]) {
    const answer = await ask(`http://nas${path}`, { method })
    expect(await answer.json(), method).toMatchObject({ template })
  }
})

test("HEAD has a route of its own, whose response is not read to find its length", async () => {
  let isRead = false
  const pull = (controller: ReadableStreamDefaultController) => {
    isRead = true
    controller.close()
  }
  const body = () => new ReadableStream({ pull }, { highWaterMark: 0 })
  const streaming = areaOf("area", { "/stream": { anywhere: () => new Response(body()) } })
  const own = routerOf({
    areas: () => [streaming],
    serve,
    failed: (_, cause) => Promise.reject(cause),
  })
  const request = new Request("http://nas/stream", { method: "HEAD" })
  const answer = await own({ request, url: new URL(request.url), peer: () => "" })
  expect([answer.status, answer.headers.has("content-length")]).toEqual([200, false])
  expect(isRead).toBe(false)
})

test("a response is sent on as it was made", async () => {
  expect(await ask("http://nas/anywhere")).toBe(made)
})

describe("a route that fails", () => {
  test.each(["/fails", "/fails/later"])("%s is answered by the one handler", async (path) => {
    const answer = await ask(`http://nas${path}`)
    expect([answer.status, await answer.text()]).toEqual([500, "something went wrong"])
    expect(failures.at(-1)).toBe(`${path}: Error: a secret of ours`)
  })

  test("rejects where that fails, too, so that the listener answers", async () => {
    await expect(ask("http://nas/fails?twice")).rejects.toThrow("nothing can be shown")
  })
})
