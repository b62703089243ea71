import { type ConnectRouter, createConnectRouter } from "@connectrpc/connect"
import {
  universalServerRequestFromFetch,
  universalServerResponseToFetch,
} from "@connectrpc/connect/protocol"
import { Fault } from "../kernel/fault.ts"
import { wrongType } from "./body.ts"
import { connect, isPlainConnect, refuse } from "./connect.ts"
import type { Entry } from "./dispatch.ts"
import { failedInText, inBytes, inText, isGrpcWebText } from "./grpc-web-text.ts"
import { crossOrigin, preflight } from "./respond.ts"
import { restOf } from "./rest.ts"
import { connectOptions, peerValues, routesOf } from "./routes.ts"

/** Answers what the API serves; undefined for every other path, which the server serves or not. */
export type ApiHandler = (
  request: Request,
  peer: { readonly address: string },
) => Promise<Response | undefined>

/** REST, Connect and gRPC-Web for one set of operations. */
export function apiHandler(entries: readonly Entry[]): ApiHandler {
  const rest = restOf(entries)
  const byPath = new Map(entries.map((entry) => [`/${entry.name}`, entry]))
  const router = createConnectRouter({ ...connectOptions, grpc: false })
  routesOf(entries)(router)
  const universal = new Map(router.handlers.map((handler) => [handler.requestPath, handler]))

  return async (request, { address }) => {
    const url = new URL(request.url)
    const entry = byPath.get(url.pathname)
    if (request.method === "OPTIONS") {
      return entry || rest(request, url, address) ? preflight() : undefined
    }
    if (!entry) {
      // The interface gives the root to the web keys; a person who opens it wants the pages.
      return isPerson(request, url) ? undefined : rest(request, url, address)
    }
    if (request.method !== "POST") return postOnly()
    if (isPlainConnect(request.headers)) return connect(entry, request, address)
    const handler = universal.get(url.pathname)
    return isGrpcWebText(request.headers)
      ? inBase64(handler, request, address)
      : other(handler, request, address)
  }
}

type Universal = ConnectRouter["handlers"][number]

/** gRPC-Web, compressed bodies and odd content types go through connect-es. */
async function other(
  handler: Universal | undefined,
  request: Request,
  address: string,
): Promise<Response | undefined> {
  const asked = universalServerRequestFromFetch(request, {})
  const answer = await handler?.({ ...asked, contextValues: peerValues({ address }) })
  if (!answer) return undefined
  if (answer.status === 415) return refuse(wrongType("application/json or application/proto"))
  const response = universalServerResponseToFetch(answer)
  for (const [name, value] of Object.entries(crossOrigin)) response.headers.set(name, value)
  response.headers.set("cache-control", "no-store")
  return response
}

async function inBase64(
  handler: Universal | undefined,
  request: Request,
  address: string,
): Promise<Response | undefined> {
  const asked = await inBytes(request).catch((cause: unknown) => {
    if (cause instanceof Fault) return failedInText(cause)
    throw cause
  })
  if (asked instanceof Response) return asked
  const answer = await other(handler, asked, address)
  return answer && inText(answer)
}

function isPerson({ method, headers }: Request, { pathname }: URL): boolean {
  const isRoot = pathname === "/" && (method === "GET" || method === "HEAD")
  return isRoot && (headers.get("accept") ?? "").includes("text/html")
}

const postOnly = () =>
  refuse(new Fault("unimplemented", "request.method_wrong", "this path takes POST"), {
    allow: "POST",
  })
