import type { Cx } from "../../store/index.ts"

/** The code that a device fetches its tokens with. It authenticates itself. */
export const writeDeviceCode = (cx: Cx, id: string): string =>
  cx.secrets.seal("token", id, aboutOf(cx))

/** The authorization that a device code stands for; undefined for anything that is none of ours. */
export const readDeviceCode = (cx: Cx, code: string): string | undefined =>
  cx.secrets.open("token", code, aboutOf(cx))

/** Ids may repeat across instances: a code of one must not open in another. */
const aboutOf = (cx: Cx) => `device_code/${cx.instance}`
