import type { MessageInitShape } from "@bufbuild/protobuf"
import { bindHandlers } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import { type IDPSchema, IDPState } from "../../../gen/core/idp/v1/idp_pb.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import { contextOrg } from "../../../kernel/context.ts"
import { toDetails } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { module as policies } from "../../policy/index.ts"
import { createLoginPolicy, type OwnedIdp } from "../commands.ts"
import type { Settings } from "../model.ts"
import { idpDetails, toOwnerType } from "./v1-message.ts"
import { providerOperations, searchIdps } from "./v1-operation.ts"

const instance = providerOperations(() => undefined)

/** Operations on the providers of the instance. */
export const admin = bindHandlers<Cx>()(AdminService, {
  ...instance,
  listIDPs: (req, cx) => {
    const { details, rows } = searchIdps(cx, undefined, req)
    const { sortingColumn } = req
    return { details, sortingColumn, result: rows.map((row) => toLegacyMessage(cx, row)) }
  },
})

/** Operations on the providers of the organization in the context. */
export const management = bindHandlers<Cx>()(ManagementService, {
  ...providerOperations(contextOrg),
  addCustomLoginPolicy: async (req, cx) => {
    const { parseLogin } = await policies.operations()
    const idpIds = req.idps.map(({ idpId }) => idpId)
    const receipt = await createLoginPolicy(cx, contextOrg(cx), {
      say: () => parseLogin(req),
      idpIds,
    })
    return { details: toDetails(receipt) }
  },
})

/** A provider in the original format, which has two kinds; others have no settings in it. */
function toLegacyMessage(
  cx: Cx,
  { idp, place: owner }: OwnedIdp,
): MessageInitShape<typeof IDPSchema> {
  const { settings, options } = idp
  const config = toLegacyConfig(settings)
  return {
    id: idp.id,
    details: idpDetails(cx, { idp, place: owner }),
    state: IDPState.IDP_STATE_ACTIVE,
    name: idp.name,
    owner: toOwnerType(owner),
    config,
    autoRegister: options.isAutoCreation,
  }
}

function toLegacyConfig(settings: Settings) {
  if (settings.kind === "jwt") return { case: "jwtConfig", value: settings } as const
  if (settings.kind !== "oidc") return { case: undefined } as const
  const value = { ...settings, scopes: [...settings.scopes] }
  return { case: "oidcConfig", value } as const
}
