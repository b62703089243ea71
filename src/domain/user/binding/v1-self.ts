import { bindHandlers } from "../../../api/method.ts"
import {
  AuthService,
  type ListMyMetadataRequest,
  type UpdateMyProfileRequest,
} from "../../../gen/core/auth/v1/auth_service_pb.ts"
import type { MetadataQuery } from "../../../gen/core/metadata/v1/metadata_pb.ts"
import { Gender as Genders } from "../../../gen/core/user/v1/user_pb.ts"
import { requireUserId } from "../../../kernel/context.ts"
import { Fault } from "../../../kernel/fault.ts"
import { parsePage } from "../../../kernel/page.ts"
import { selectMasked } from "../../../protocol/api/mask.ts"
import {
  filterMissingError,
  toDetails,
  toTimestamp,
  valueOfEnum,
} from "../../../protocol/api/response.ts"
import { type Cx, type Filter, search, textFilter } from "../../../store/index.ts"
import { createCode } from "../../credential/index.ts"
import type { ContactKind } from "../../lockout/index.ts"
import { findHomeOrg, type Gender, user } from "../../user-model/index.ts"
import { removeAvatar } from "../avatar.ts"
import { removeUser, type UserChange } from "../commands.ts"
import {
  changeUser,
  removePhone,
  requestCode,
  requireContactOwner,
  verifyContact,
} from "../contact.ts"
import { requireCanRename } from "../login-name.ts"
import { type MetadataRow, metadataEntries } from "../metadata-view.ts"

/** Operations of callers on their own user and metadata. */
export const self = bindHandlers<Cx>()(AuthService, {
  updateMyProfile: (req, cx) => updateSelf(cx, { human: { profile: profileFrom(req) } }),
  updateMyUserName: ({ userName }, cx) => {
    requireCanRename(cx, findHomeOrg(cx, requireUserId(cx)))
    return updateSelf(cx, { userName })
  },
  setMyEmail: ({ email: value }, cx) =>
    updateSelf(cx, { human: { email: newOwnContact(cx, "email", value) } }),
  setMyPhone: ({ phone: value }, cx) =>
    updateSelf(cx, { human: { phone: newOwnContact(cx, "phone", value) } }),
  removeMyPhone: async (_, cx) => {
    if (!requireContactOwner(cx.store.state(cx, user, requireUserId(cx))).phone)
      throw unchangedError()
    return { details: toDetails(await removePhone(cx, requireUserId(cx))) }
  },
  removeMyAvatar: async (_, cx) => ({
    details: toDetails(await removeAvatar(cx, requireUserId(cx))),
  }),
  resendMyEmailVerification: (_, cx) => resendCode(cx, "email"),
  resendMyPhoneVerification: (_, cx) => resendCode(cx, "phone"),
  verifyMyEmail: ({ code }, cx) => verifyOwnContact(cx, "email", code),
  verifyMyPhone: ({ code }, cx) => verifyOwnContact(cx, "phone", code),
  listMyMetadata: (req, cx) => listOwnMetadata(cx, req),
  getMyMetadata: async ({ key }, cx) => {
    const result = await findMetadata(cx, { filters: [{ equals: "meta_key", value: key }] })
    const [row] = result.rows
    if (row) return { metadata: toMetadata(row) }
    throw new Fault("not_found", "user.metadata_absent", "metadata not found")
  },
  removeMyUser: async (_, cx) => ({ details: toDetails(await removeUser(cx, requireUserId(cx))) }),
})

async function updateSelf(cx: Cx, changes: UserChange) {
  const id = requireUserId(cx)
  const step = await cx.store.transact(cx, (tx) => {
    const before = tx.state(user, id)
    changeUser(tx, id, changes)
    if (tx.state(user, id) === before) throw unchangedError()
  })
  return { details: toDetails(step.receipt(user, id)) }
}

const profileFrom = (req: UpdateMyProfileRequest) =>
  selectMasked(
    req,
    {
      givenName: req.firstName,
      familyName: req.lastName,
      nickName: req.nickName,
      displayName: req.displayName,
      preferredLanguage: req.preferredLanguage,
      gender: valueOfEnum(genderByMessage, req.gender),
    },
    { givenName: ["firstName"], familyName: ["lastName"] },
  )

/** Users can verify their own address only with the code that is sent to it. */
const newOwnContact = (cx: Cx, of: ContactKind, value: string) => ({
  value,
  verified: false,
  code: createCode(cx, requireUserId(cx), { of, returned: false }),
})

async function resendCode(cx: Cx, of: ContactKind) {
  const id = requireUserId(cx)
  const code = createCode(cx, id, { of, returned: false })
  return { details: toDetails(await requestCode(cx, id, { of, code })) }
}

const verifyOwnContact = async (cx: Cx, of: ContactKind, code: string) => ({
  details: toDetails(await verifyContact(cx, requireUserId(cx), { of, code })),
})

async function listOwnMetadata(cx: Cx, req: ListMyMetadataRequest) {
  const result = await findMetadata(cx, { query: req.query, filters: req.queries.map(toFilter) })
  return {
    details: {
      totalResult: BigInt(result.total),
      processedSequence: BigInt(cx.store.log.durable()),
      viewTimestamp: toTimestamp(cx.clock.now()),
    },
    result: result.rows.map(toMetadata),
  }
}

type MetadataQueryOptions = {
  readonly query?: ListMyMetadataRequest["query"]
  readonly filters: readonly Filter[]
}

function findMetadata(cx: Cx, { query, filters }: MetadataQueryOptions) {
  const userId = requireUserId(cx)
  const scope = { all: false, orgs: [], projects: [], grants: [], self: userId }
  return search<MetadataRow>({ ...cx, scope }, metadataEntries, { page: parsePage(query), filters })
}

function toFilter({ query }: MetadataQuery): Filter {
  if (query.case === undefined) throw filterMissingError()
  return textFilter("meta_key", query.value.key, query.value.method)
}

const toMetadata = (row: MetadataRow) => ({
  key: row.meta_key,
  value: row.value,
  details: toDetails({ ...row, owner: row.org }),
})

const genderByMessage: Readonly<Record<number, Gender>> = {
  [Genders.UNSPECIFIED]: "unspecified",
  [Genders.FEMALE]: "female",
  [Genders.MALE]: "male",
  [Genders.DIVERSE]: "diverse",
}

const unchangedError = () =>
  new Fault(
    "failed_precondition",
    "user.unchanged",
    "nothing to update: the user already has these values",
  )
