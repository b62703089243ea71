import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../../api/method.ts"
import { type KeySchema, KeyType } from "../../../gen/core/authn/v1/key_pb.ts"
import {
  type AddAppKeyRequest,
  type ListAppKeysRequest,
  ManagementService,
} from "../../../gen/core/management/v1/management_service_pb.ts"
import { neverExpires } from "../../../kernel/crypto/signing-key.ts"
import { Fault } from "../../../kernel/fault.ts"
import { parsePage } from "../../../kernel/page.ts"
import { toDetails, toTimestamp, valueOfEnum } from "../../../protocol/api/response.ts"
import { type Cx, search } from "../../../store/index.ts"
import { createAppKey, getAppKey, removeAppKey } from "../credential/app-key.ts"
import { generateSecret } from "../credential/secret.ts"
import { app } from "../model.ts"
import { type AppKeyRow, appKeys, keyNotFoundError } from "../view.ts"

/**
 * Secrets and keys of applications. Unlike v2, v1 rejects the removal of a key that does not exist.
 */
export const managementCredentials = bindHandlers<Cx>()(ManagementService, {
  regenerateOIDCClientSecret: (req, cx) => regenerateSecret(cx, req.appId, "oidc"),
  regenerateAPIClientSecret: (req, cx) => regenerateSecret(cx, req.appId, "api"),
  getAppKey: (req, cx) => ({ key: toKey(getAppKey(cx, req.keyId, req.appId)) }),
  listAppKeys: (req, cx) => listKeys(cx, req),
  addAppKey: (req, cx) => addKey(cx, req),
  removeAppKey: async (req, cx) => {
    const receipt = await removeAppKey(cx, req.appId, req.keyId)
    if (!receipt) throw keyNotFoundError()
    return { details: toDetails(receipt) }
  },
})

async function regenerateSecret(cx: Cx, appId: string, kind: "oidc" | "api") {
  const state = cx.store.state(cx, app, appId)
  if ("kind" in state && state.kind !== kind) {
    throw new Fault("invalid_argument", "app.kind_differs", "the application has a different type")
  }
  const { secret, receipt } = await generateSecret(cx, appId)
  return { clientSecret: secret, details: toDetails(receipt) }
}

async function addKey(cx: Cx, { appId, type, expirationDate }: AddAppKeyRequest) {
  valueOfEnum(keyTypes, type)
  const expires = expirationDate ? timestampMs(expirationDate) : neverExpires
  const { receipt, key } = await createAppKey(cx, appId, expires)
  return { id: key.keyId, details: toDetails(receipt), keyDetails: Buffer.from(key.content) }
}

/** There is only one key file format. */
const keyTypes: Readonly<Record<number, "json">> = { [KeyType.JSON]: "json" }

/** The access rule already allows the caller to read everything of this application. */
async function listKeys(cx: Cx, { appId, query }: ListAppKeysRequest) {
  const scope = { all: true, orgs: [], projects: [], grants: [] }
  const found = await search<AppKeyRow>({ ...cx, scope }, appKeys, {
    page: parsePage(query),
    filters: [{ equals: "app", value: appId }],
  })
  return {
    details: {
      totalResult: BigInt(found.total),
      processedSequence: BigInt(cx.store.log.durable()),
      viewTimestamp: toTimestamp(cx.clock.now()),
    },
    result: found.rows.map(toKey),
  }
}

const toKey = (row: AppKeyRow): MessageInitShape<typeof KeySchema> => ({
  id: row.id,
  details: toDetails({ ...row, changed: row.created, owner: row.org }),
  type: KeyType.JSON,
  expirationDate: toTimestamp(row.expires),
})
