import type { Cx } from "../store/index.ts"

/** The code of an answered request. It authenticates itself; the request's state counts it. */
export const writeCode = (cx: Cx, requestId: string): string =>
  cx.secrets.seal("token", requestId, aboutOf(cx))

/** The request that a code answers; undefined for anything that is no code of ours. */
export const readCode = (cx: Cx, code: string): string | undefined =>
  cx.secrets.open("token", code, aboutOf(cx))

/** Ids may repeat across instances: a code of one must not open in another. */
const aboutOf = (cx: Cx) => `authorization_code/${cx.instance}`
