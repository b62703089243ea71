import { share } from "../../api/method.ts"
import { AssetService } from "../../gen/core/asset/v1/asset_service_pb.ts"
import { contextOrg } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import { details } from "../../protocol/api/answer.ts"
import type { Cx } from "../../store/index.ts"
import { downloadAvatar, downloadLookFile, uploadAvatar, uploadLookFile } from "./commands.ts"
import { typeOf, types } from "./file.ts"

/** Files, as they are sent and answered. */
export const assets = share<Cx>()(AssetService, {
  uploadInstanceFile: async ({ kind, file }, cx) => ({
    details: details(await uploadLookFile(cx, undefined, { kind, data: dataOf(file) })),
  }),
  getInstanceFile: ({ kind }, cx) => toFile(downloadLookFile(cx, undefined, kind)),
  uploadOrgFile: async ({ kind, file }, cx) => ({
    details: details(await uploadLookFile(cx, contextOrg(cx), { kind, data: dataOf(file) })),
  }),
  getOrgFile: ({ kind }, cx) => toFile(downloadLookFile(cx, contextOrg(cx), kind)),
  uploadMyAvatar: async ({ file }, cx) => ({
    details: details(await uploadAvatar(cx, callerOf(cx), dataOf(file))),
  }),
  getMyAvatar: (_, cx) => toFile(downloadAvatar(cx, callerOf(cx))),
})

const dataOf = (file: { readonly data: Uint8Array } | undefined) => file?.data ?? new Uint8Array()

const toFile = ({ name, bytes }: { readonly name: string; readonly bytes: Uint8Array }) => ({
  data: bytes,
  contentType: types[typeOf(name) ?? "png"],
})

function callerOf({ caller }: Cx): string {
  if (caller.kind === "user") return caller.userId
  throw new Fault("unauthenticated", "user.nobody", "sign in to see who you are")
}
