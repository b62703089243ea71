import { bindHandlers } from "../../api/method.ts"
import { AssetService } from "../../gen/core/asset/v1/asset_service_pb.ts"
import { contextOrg } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import { toDetails } from "../../protocol/api/response.ts"
import type { Cx } from "../../store/index.ts"
import { downloadAvatar, downloadLookFile, uploadAvatar, uploadLookFile } from "./commands.ts"
import { mediaTypes, typeOf } from "./file.ts"

/** Converts uploaded and downloaded files. */
export const assets = bindHandlers<Cx>()(AssetService, {
  uploadInstanceFile: async ({ kind, file }, cx) => ({
    details: toDetails(await uploadLookFile(cx, undefined, { kind, data: dataOf(file) })),
  }),
  getInstanceFile: ({ kind }, cx) => toFile(downloadLookFile(cx, undefined, kind)),
  uploadOrgFile: async ({ kind, file }, cx) => ({
    details: toDetails(await uploadLookFile(cx, contextOrg(cx), { kind, data: dataOf(file) })),
  }),
  getOrgFile: ({ kind }, cx) => toFile(downloadLookFile(cx, contextOrg(cx), kind)),
  uploadMyAvatar: async ({ file }, cx) => ({
    details: toDetails(await uploadAvatar(cx, requireUser(cx), dataOf(file))),
  }),
  getMyAvatar: (_, cx) => toFile(downloadAvatar(cx, requireUser(cx))),
})

const dataOf = (file: { readonly data: Uint8Array } | undefined) => file?.data ?? new Uint8Array()

const toFile = ({ name, bytes }: { readonly name: string; readonly bytes: Uint8Array }) => ({
  data: bytes,
  contentType: mediaTypes[typeOf(name) ?? "png"],
})

function requireUser({ caller }: Cx): string {
  if (caller.kind === "user") return caller.userId
  throw new Fault("unauthenticated", "user.nobody", "sign in as a user to use your avatar")
}
