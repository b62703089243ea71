import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../../api/method.ts"
import { type KeySchema, KeyType } from "../../../gen/core/authn/v1/key_pb.ts"
import {
  type AddAppKeyRequest,
  type ListAppKeysRequest,
  ManagementService,
} from "../../../gen/core/management/v1/management_service_pb.ts"
import { never } from "../../../kernel/crypto/signing-key.ts"
import { Fault } from "../../../kernel/fault.ts"
import { pageOf } from "../../../kernel/page.ts"
import { at, details, meaning } from "../../../protocol/api/answer.ts"
import { type Cx, search } from "../../../store/index.ts"
import { appKeyOf, createAppKey, removeAppKey } from "../credential/app-key.ts"
import { generateSecret } from "../credential/secret.ts"
import { app } from "../model.ts"
import { type AppKeyRow, appKeys, missingKeyError } from "../view.ts"

/** What applications prove themselves with; v1 says where nothing was to be removed. */
export const managementCredentials = share<Cx>()(ManagementService, {
  regenerateOIDCClientSecret: (req, cx) => regenerate(cx, req.appId, "oidc"),
  regenerateAPIClientSecret: (req, cx) => regenerate(cx, req.appId, "api"),
  getAppKey: (req, cx) => ({ key: toKey(appKeyOf(cx, req.keyId, req.appId)) }),
  listAppKeys: (req, cx) => list(cx, req),
  addAppKey: (req, cx) => add(cx, req),
  removeAppKey: async (req, cx) => {
    const receipt = await removeAppKey(cx, req.appId, req.keyId)
    if (!receipt) throw missingKeyError()
    return { details: details(receipt) }
  },
})

async function regenerate(cx: Cx, appId: string, kind: "oidc" | "api") {
  const state = cx.store.state(cx, app, appId)
  if ("kind" in state && state.kind !== kind) {
    throw new Fault("invalid_argument", "app.kind_differs", "the application is of another type")
  }
  const { secret, receipt } = await generateSecret(cx, appId)
  return { clientSecret: secret, details: details(receipt) }
}

async function add(cx: Cx, { appId, type, expirationDate }: AddAppKeyRequest) {
  meaning(keyTypes, type)
  const expires = expirationDate ? timestampMs(expirationDate) : never
  const { receipt, key } = await createAppKey(cx, appId, expires)
  return { id: key.keyId, details: details(receipt), keyDetails: Buffer.from(key.content) }
}

/** There is one form of key file. */
const keyTypes: Readonly<Record<number, "json">> = { [KeyType.JSON]: "json" }

/** The rule has let the caller see all that this one application has. */
async function list(cx: Cx, { appId, query }: ListAppKeysRequest) {
  const scope = { all: true, orgs: [], projects: [], grants: [] }
  const found = await search<AppKeyRow>({ ...cx, scope }, appKeys, {
    page: pageOf(query),
    filters: [{ equals: "app", value: appId }],
  })
  return {
    details: {
      totalResult: BigInt(found.total),
      processedSequence: BigInt(cx.store.log.durable()),
      viewTimestamp: at(cx.clock.now()),
    },
    result: found.rows.map(toKey),
  }
}

const toKey = (row: AppKeyRow): MessageInitShape<typeof KeySchema> => ({
  id: row.id,
  details: details({ ...row, changed: row.created, owner: row.org }),
  type: KeyType.JSON,
  expirationDate: at(row.expires),
})
