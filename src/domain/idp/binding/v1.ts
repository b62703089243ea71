import type { MessageInitShape } from "@bufbuild/protobuf"
import { share } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import { type IDPSchema, IDPState } from "../../../gen/core/idp/v1/idp_pb.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import { contextOrg } from "../../../kernel/context.ts"
import { details } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { module as policies } from "../../policy/index.ts"
import { addLogin, type Found } from "../commands.ts"
import type { Settings } from "../model.ts"
import { operationsAt, searchIdps } from "./v1-operation.ts"
import { ownerOf, standOf } from "./v1-shown.ts"

const instance = operationsAt(() => undefined)

/** The providers of the instance. */
export const admin = share<Cx>()(AdminService, {
  ...instance,
  listIDPs: (req, cx) => {
    const { details, rows } = searchIdps(cx, undefined, req)
    const { sortingColumn } = req
    return { details, sortingColumn, result: rows.map((row) => toOlder(cx, row)) }
  },
})

/** Those of the organisation of the context. */
export const management = share<Cx>()(ManagementService, {
  ...operationsAt(contextOrg),
  addCustomLoginPolicy: async (req, cx) => {
    const { readLogin } = await policies.operations()
    const idpIds = req.idps.map(({ idpId }) => idpId)
    const receipt = await addLogin(cx, contextOrg(cx), { say: () => readLogin(req), idpIds })
    return { details: details(receipt) }
  },
})

/** As providers were shown when there were two kinds; of another one its settings are left out. */
function toOlder(cx: Cx, { idp, place }: Found): MessageInitShape<typeof IDPSchema> {
  const { settings, options } = idp
  const config = olderConfig(settings)
  return {
    id: idp.id,
    details: standOf(cx, { idp, place }),
    state: IDPState.IDP_STATE_ACTIVE,
    name: idp.name,
    owner: ownerOf(place),
    config,
    autoRegister: options.isAutoCreation,
  }
}

function olderConfig(settings: Settings) {
  if (settings.kind === "jwt") return { case: "jwtConfig", value: settings } as const
  if (settings.kind !== "oidc") return { case: undefined } as const
  const value = { ...settings, scopes: [...settings.scopes] }
  return { case: "oidcConfig", value } as const
}
