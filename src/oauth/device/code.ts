import type { Cx } from "../../store/index.ts"

/** The device code, sealed. */
export const sealDeviceCode = (cx: Cx, id: string): string =>
  cx.secrets.seal("token", id, sealContextOf(cx))

/** The device authorization of a device code; undefined if the code is invalid. */
export const openDeviceCode = (cx: Cx, code: string): string | undefined =>
  cx.secrets.open("token", code, sealContextOf(cx))

/** IDs may repeat across instances: a code of one instance must not be valid in another. */
const sealContextOf = (cx: Cx) => `device_code/${cx.instance}`
