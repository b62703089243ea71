import { onePixel } from "../../support/picture.ts"
import type { Row } from "../row.ts"

const service = "asset.v1.AssetService"
const admin = "admin.v1.AdminService"
const management = "management.v1.ManagementService"
const auth = "auth.v1.AuthService"

const data = onePixel.toString("base64")
const file = { data }
const kinds = ["Logo", "LogoDark", "Icon", "IconDark"] as const
const pathOf = (kind: string) => kind.replace("Dark", "/dark").toLowerCase()

/** An organization has its own branding before it uploads files. */
const ownBranding = [`${management}/AddCustomLabelPolicy`, { primaryColor: "#112233" }] as const

const removals = [
  { call: `${admin}/RemoveLabelPolicy`, upload: `${service}/UploadInstanceFile`, at: "instance" },
  { call: `${management}/RemoveCustomLabelPolicy`, upload: `${service}/UploadOrgFile`, at: "org" },
].flatMap(({ call, upload, at }): Row[] => {
  const before = at === "org" ? [ownBranding] : []
  return [
    ...kinds.map(
      (kind): Row => ({
        call: `${call}${kind}`,
        as: "owner",
        once: true,
        given: [...before, [upload, { kind: pathOf(kind), file }]],
        events: [`${at}.policy.label.preview.changed`, `${at}.policy.label.assets.removed`],
      }),
    ),
    {
      call: `${call}Font`,
      as: "owner",
      once: true,
      given: [...before],
      code: "not_found",
      id: "asset.missing",
    },
  ]
})

export const assetRows: readonly Row[] = [
  ...removals,
  {
    call: `${service}/UploadInstanceFile`,
    as: "owner",
    once: true,
    body: { kind: "logo", file },
    events: ["instance.policy.label.preview.added"],
  },
  {
    call: `${service}/UploadInstanceFile`,
    name: "what is no picture",
    as: "owner",
    body: { kind: "logo", file: { data: Buffer.from("hello").toString("base64") } },
    code: "invalid_argument",
    id: "asset.not_a_picture",
  },
  {
    call: `${service}/GetInstanceFile`,
    as: "owner",
    body: { kind: "logo" },
    code: "not_found",
    id: "asset.missing",
  },
  {
    call: `${service}/UploadOrgFile`,
    as: "owner",
    once: true,
    given: [ownBranding],
    body: { kind: "icon", file },
    events: ["org.policy.label.preview.changed"],
  },
  {
    call: `${service}/GetOrgFile`,
    body: { kind: "photo" },
    code: "not_found",
    id: "asset.kind_unknown",
  },
  {
    call: `${service}/UploadMyAvatar`,
    as: "user",
    body: { file },
    events: ["user.human.avatar.added"],
  },
  { call: `${service}/GetMyAvatar`, as: "user", code: "not_found", id: "asset.missing" },
  { call: `${auth}/RemoveMyAvatar`, as: "user", code: "not_found", id: "asset.missing" },
  {
    call: `${management}/RemoveHumanAvatar`,
    body: { userId: "$user" },
    code: "not_found",
    id: "asset.missing",
  },
]
