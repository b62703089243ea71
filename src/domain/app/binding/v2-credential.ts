import type { MessageInitShape } from "@bufbuild/protobuf"
import { durationMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../../api/method.ts"
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
import { neverExpires } from "../../../kernel/crypto/signing-key.ts"
import { Fault } from "../../../kernel/fault.ts"
import { filterMissingError, toDeletion, toTimestamp } from "../../../protocol/api/response.ts"
import type { Cx, Filter } from "../../../store/index.ts"
import { listOf } from "../../family/api.ts"
import { createAppKey, getAppKey, removeAppKey } from "../credential/app-key.ts"
import { generateSecret, listSecrets, removeSecret } from "../credential/secret.ts"
import { type AppKeyRow, appKeys } from "../view.ts"

/** Secrets and keys of applications. */
export const v2credential = bindHandlers<Cx>()(ApplicationService, {
  generateClientSecret: async (req, cx) => {
    const { id, secret, receipt } = await generateSecret(cx, req.applicationId, keepUntil(cx, req))
    return { clientSecret: secret, secretId: id, creationDate: toTimestamp(receipt.changed) }
  },
  listClientSecrets: (req, cx) => ({ secrets: listSecrets(cx, req.applicationId).map(toSecret) }),
  removeClientSecret: async (req, cx) =>
    toDeletion(await removeSecret(cx, req.applicationId, req.secretId)),
  createApplicationKey: (req, cx) => createKey(cx, req),
  deleteApplicationKey: async (req, cx) =>
    toDeletion(await removeAppKey(cx, req.applicationId, req.keyId)),
  getApplicationKey: (req, cx) => {
    const row = getAppKey(cx, req.keyId)
    return {
      keyId: row.id,
      creationDate: toTimestamp(row.created),
      expirationDate: toTimestamp(row.expires),
    }
  },
  listApplicationKeys: async (req, cx) => {
    const { rows, pagination } = await listKeys(cx, req)
    return { pagination, keys: rows }
  },
})

/**
 * Without keep_previous_for, earlier secrets expire immediately, as existing clients of this API
 * expect.
 */
function keepUntil(cx: Cx, { previous }: GenerateClientSecretRequest): number | undefined {
  if (previous.case === "keepPrevious") return previous.value ? neverExpires : undefined
  if (previous.case === undefined) return undefined
  const ms = Math.floor(durationMs(previous.value))
  if (ms >= 0) return Math.min(cx.clock.now() + ms, neverExpires)
  throw new Fault(
    "invalid_argument",
    "app.keep_previous_negative",
    "keep_previous_for must not be negative",
  )
}

type Secret = ReturnType<typeof listSecrets>[number]

const toSecret = (secret: Secret): MessageInitShape<typeof ClientSecretSchema> => ({
  secretId: secret.id,
  creationDate: toTimestamp(secret.created),
  ...(secret.expires < neverExpires && { expirationDate: toTimestamp(secret.expires) }),
})

async function createKey(cx: Cx, { applicationId, expirationDate }: CreateApplicationKeyRequest) {
  const expires = expirationDate ? timestampMs(expirationDate) : neverExpires
  const { receipt, key } = await createAppKey(cx, applicationId, expires)
  return {
    keyId: key.keyId,
    creationDate: toTimestamp(receipt.changed),
    keyDetails: Buffer.from(key.content),
  }
}

const toKey = (row: AppKeyRow): MessageInitShape<typeof ApplicationKeySchema> => ({
  keyId: row.id,
  applicationId: row.app,
  projectId: row.project,
  organizationId: row.org,
  creationDate: toTimestamp(row.created),
  expirationDate: toTimestamp(row.expires),
})

const columns: Readonly<Record<number, string>> = {
  [ApplicationKeysSorting.APPLICATION_KEYS_SORT_BY_ID]: "id",
  [ApplicationKeysSorting.APPLICATION_KEYS_SORT_BY_PROJECT_ID]: "project",
  [ApplicationKeysSorting.APPLICATION_KEYS_SORT_BY_APPLICATION_ID]: "app",
  [ApplicationKeysSorting.APPLICATION_KEYS_SORT_BY_CREATION_DATE]: "created",
  [ApplicationKeysSorting.APPLICATION_KEYS_SORT_BY_ORGANIZATION_ID]: "org",
  [ApplicationKeysSorting.APPLICATION_KEYS_SORT_BY_EXPIRATION]: "expires",
  // All keys have the same type.
  [ApplicationKeysSorting.APPLICATION_KEYS_SORT_BY_TYPE]: "id",
}

const listKeys = listOf({ table: appKeys, columns, filterOf, shown: toKey })

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
