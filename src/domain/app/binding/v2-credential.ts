import type { MessageInitShape } from "@bufbuild/protobuf"
import { durationMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../../api/method.ts"
import {
  type ApplicationKeySchema,
  type ApplicationKeySearchFilter,
  ApplicationKeysSorting,
  type ClientSecretSchema,
} from "../../../gen/core/application/v2/application_pb.ts"
import {
  ApplicationService,
  type CreateApplicationKeyRequest,
  type GenerateClientSecretRequest,
} from "../../../gen/core/application/v2/application_service_pb.ts"
import { never } from "../../../kernel/crypto/signing-key.ts"
import { Fault } from "../../../kernel/fault.ts"
import { at, deletion, filterMissingError } from "../../../protocol/api/answer.ts"
import type { Cx, Filter } from "../../../store/index.ts"
import { listOf } from "../../family/api.ts"
import { appKeyOf, createAppKey, removeAppKey } from "../credential/app-key.ts"
import { generateSecret, removeSecret, secretsOf } from "../credential/secret.ts"
import { type AppKeyRow, appKeys } from "../view.ts"

/** What applications prove themselves with. */
export const v2credential = share<Cx>()(ApplicationService, {
  generateClientSecret: async (req, cx) => {
    const { id, secret, receipt } = await generateSecret(cx, req.applicationId, keepUntil(cx, req))
    return { clientSecret: secret, secretId: id, creationDate: at(receipt.changed) }
  },
  listClientSecrets: (req, cx) => ({ secrets: secretsOf(cx, req.applicationId).map(toSecret) }),
  removeClientSecret: async (req, cx) =>
    deletion(await removeSecret(cx, req.applicationId, req.secretId)),
  createApplicationKey: (req, cx) => create(cx, req),
  deleteApplicationKey: async (req, cx) =>
    deletion(await removeAppKey(cx, req.applicationId, req.keyId)),
  getApplicationKey: (req, cx) => {
    const row = appKeyOf(cx, req.keyId)
    return {
      keyId: row.id,
      creationDate: at(row.created),
      expirationDate: at(row.expires),
    }
  },
  listApplicationKeys: async (req, cx) => {
    const { rows, pagination } = await list(cx, req)
    return { pagination, keys: rows }
  },
})

/** Without a word the older secrets are void at once: that is what callers of old expect. */
function keepUntil(cx: Cx, { previous }: GenerateClientSecretRequest): number | undefined {
  if (previous.case === "keepPrevious") return previous.value ? never : undefined
  if (previous.case === undefined) return undefined
  const ms = Math.floor(durationMs(previous.value))
  if (ms >= 0) return Math.min(cx.clock.now() + ms, never)
  throw new Fault(
    "invalid_argument",
    "app.keep_previous_negative",
    "keep_previous_for must not be negative",
  )
}

type Secret = ReturnType<typeof secretsOf>[number]

const toSecret = (secret: Secret): MessageInitShape<typeof ClientSecretSchema> => ({
  secretId: secret.id,
  creationDate: at(secret.created),
  ...(secret.expires < never && { expirationDate: at(secret.expires) }),
})

async function create(cx: Cx, { applicationId, expirationDate }: CreateApplicationKeyRequest) {
  const expires = expirationDate ? timestampMs(expirationDate) : never
  const { receipt, key } = await createAppKey(cx, applicationId, expires)
  return {
    keyId: key.keyId,
    creationDate: at(receipt.changed),
    keyDetails: Buffer.from(key.content),
  }
}

const toKey = (row: AppKeyRow): MessageInitShape<typeof ApplicationKeySchema> => ({
  keyId: row.id,
  applicationId: row.app,
  projectId: row.project,
  organizationId: row.org,
  creationDate: at(row.created),
  expirationDate: at(row.expires),
})

const columns: Readonly<Record<number, string>> = {
  [ApplicationKeysSorting.APPLICATION_KEYS_SORT_BY_ID]: "id",
  [ApplicationKeysSorting.APPLICATION_KEYS_SORT_BY_PROJECT_ID]: "project",
  [ApplicationKeysSorting.APPLICATION_KEYS_SORT_BY_APPLICATION_ID]: "app",
  [ApplicationKeysSorting.APPLICATION_KEYS_SORT_BY_CREATION_DATE]: "created",
  [ApplicationKeysSorting.APPLICATION_KEYS_SORT_BY_ORGANIZATION_ID]: "org",
  [ApplicationKeysSorting.APPLICATION_KEYS_SORT_BY_EXPIRATION]: "expires",
  // All keys are of one type.
  [ApplicationKeysSorting.APPLICATION_KEYS_SORT_BY_TYPE]: "id",
}

const list = listOf({ table: appKeys, columns, filterOf, shown: toKey })

function filterOf({ filter }: ApplicationKeySearchFilter): Filter {
  switch (filter.case) {
    case "applicationIdFilter":
      return { equals: "app", value: filter.value.applicationId }
    case "projectIdFilter":
      return { equals: "project", value: filter.value.projectId }
    case "organizationIdFilter":
      return { equals: "org", value: filter.value.organizationId }
    default:
      throw filterMissingError()
  }
}
