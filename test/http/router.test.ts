// How requests are routed, whatever their host and scheme, and how failures are handled.
import { describe, expect, test } from "vitest"
import { createArea, type Serve } from "../../src/http/route.ts"
import { createRouter } from "../../src/http/router.ts"
import { findRoute } from "../../src/http/visit.ts"

const serve: Serve = async ({ request }, { group }) => {
  const { template } = findRoute(request) ?? {}
  return Response.json({ template, group, body: await request.text() })
}

const fixedResponse = new Response("text", { status: 404, headers: { etag: "1" } })

const areas = [
  createArea("area", {
    "/area": { group: "own" },
    "/area/:id/one": { group: "own" },
    "/area/:id/:part": { group: "own" },
    "/fails": {
      anyHost: () => {
        throw new Error("a secret of ours")
      },
    },
    "/fails/later": { anyHost: () => Promise.reject(new Error("a secret of ours")) },
    "/anywhere": { anyHost: () => fixedResponse },
  }),
  createArea("other", { "/*": { group: "other" } }),
]

const failures: string[] = []
const router = createRouter({
  areas: () => areas,
  serve,
  failed: async ({ url }, cause) => {
    if (url.search === "?twice") throw new Error("nothing can be shown")
    failures.push(`${url.pathname}: ${cause}`)
    return new Response("an internal error occurred", { status: 500 })
  },
})

const requestRoute = (address: string, init: RequestInit = {}) => {
  const request = new Request(address, init)
  return router({ request, url: new URL(address), peer: () => "127.0.0.1" })
}

/** Elysia searches for the path after the host, from a fixed character on. */
const hosts = ["a", "ab", "nas", "host", "id.example.com", "a:1", "[::1]", "[::1]:8080"]

describe.each(["http", "https"])("by %s", (scheme) => {
  test.each(hosts)(
    "finds the route of %s/area and does not read its body in advance",
    async (host) => {
      const answer = await requestRoute(`${scheme}://${host}/area?a=/b#/c`, {
        method: "POST",
        body: "a=b",
      })
      expect(await answer.json()).toEqual({ template: "/area", group: "own", body: "a=b" })
      const root = await requestRoute(`${scheme}://${host}/`)
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
    const answer = await requestRoute(`http://nas${path}`, { method })
    expect(await answer.json(), method).toMatchObject({ template })
  }
})

test("HEAD has its own route, and its response is not read for the length", async () => {
  let isRead = false
  const pull = (controller: ReadableStreamDefaultController) => {
    isRead = true
    controller.close()
  }
  const body = () => new ReadableStream({ pull }, { highWaterMark: 0 })
  const streaming = createArea("area", { "/stream": { anyHost: () => new Response(body()) } })
  const own = createRouter({
    areas: () => [streaming],
    serve,
    failed: (_, cause) => Promise.reject(cause),
  })
  const request = new Request("http://nas/stream", { method: "HEAD" })
  const answer = await own({ request, url: new URL(request.url), peer: () => "" })
  expect([answer.status, answer.headers.has("content-length")]).toEqual([200, false])
  expect(isRead).toBe(false)
})

test("a response is sent unchanged", async () => {
  expect(await requestRoute("http://nas/anywhere")).toBe(fixedResponse)
})

describe("a route that fails", () => {
  test.each(["/fails", "/fails/later"])("%s is handled by the error handler", async (path) => {
    const answer = await requestRoute(`http://nas${path}`)
    expect([answer.status, await answer.text()]).toEqual([500, "an internal error occurred"])
    expect(failures.at(-1)).toBe(`${path}: Error: a secret of ours`)
  })

  test("rejects if the error handler fails, too, so that the listener responds", async () => {
    await expect(requestRoute("http://nas/fails?twice")).rejects.toThrow("nothing can be shown")
  })
})
