import type { DescMethodUnary } from "@bufbuild/protobuf"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { AssetService } from "../../../src/gen/core/asset/v1/asset_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import type { LabelPolicy } from "../../../src/gen/core/policy/v1/policy_pb.ts"
import { call, type Operation, unless, useReadIfAllowed } from "../shell/index.ts"
import { at, policyIn } from "./effective-policy.ts"
import type { PolicyOwner } from "./policy.ts"

const admin = AdminService.method
const management = ManagementService.method
const asset = AssetService.method

type Branding = { policy?: LabelPolicy | undefined }
type FileContent = { data: Uint8Array; contentType: string }

type Operations = {
  readonly next: Operation<object, Branding>
  readonly shown: Operation<object, Branding>
  readonly file: Operation<{ kind: string }, FileContent>
  readonly send: DescMethodUnary
  readonly show: DescMethodUnary
}

const ofInstance: Operations = {
  next: admin.getPreviewLabelPolicy,
  shown: admin.getLabelPolicy,
  file: asset.getInstanceFile,
  send: asset.uploadInstanceFile,
  show: admin.activateLabelPolicy,
}

const ofOrganization: Operations = {
  next: management.getPreviewLabelPolicy,
  shown: management.getLabelPolicy,
  file: asset.getOrgFile,
  send: asset.uploadOrgFile,
  show: management.activateCustomLabelPolicy,
}

const operationsOf = (place: PolicyOwner) => (place === undefined ? ofInstance : ofOrganization)

export type LookFileKind = "logo" | "logo/dark" | "icon" | "icon/dark" | "font"

/** A file of a look: the field that names it, and what takes it out. */
export type LookFile = {
  readonly name: "logoUrl" | "logoUrlDark" | "iconUrl" | "iconUrlDark" | "fontUrl"
  readonly kind: LookFileKind
  /** What it is looked at on. */
  readonly ground: "light" | "dark"
  /** As a file input has it. */
  readonly accept: string
  readonly instance: DescMethodUnary
  readonly organization: DescMethodUnary
}

const pictures = "image/png,image/jpeg,image/webp,image/gif,image/svg+xml"
const fonts = ".woff2,.woff,.ttf,.otf"

export const lookFiles: readonly LookFile[] = [
  {
    name: "logoUrl",
    kind: "logo",
    ground: "light",
    accept: pictures,
    instance: admin.removeLabelPolicyLogo,
    organization: management.removeCustomLabelPolicyLogo,
  },
  {
    name: "logoUrlDark",
    kind: "logo/dark",
    ground: "dark",
    accept: pictures,
    instance: admin.removeLabelPolicyLogoDark,
    organization: management.removeCustomLabelPolicyLogoDark,
  },
  {
    name: "iconUrl",
    kind: "icon",
    ground: "light",
    accept: pictures,
    instance: admin.removeLabelPolicyIcon,
    organization: management.removeCustomLabelPolicyIcon,
  },
  {
    name: "iconUrlDark",
    kind: "icon/dark",
    ground: "dark",
    accept: pictures,
    instance: admin.removeLabelPolicyIconDark,
    organization: management.removeCustomLabelPolicyIconDark,
  },
  {
    name: "fontUrl",
    kind: "font",
    ground: "light",
    accept: fonts,
    instance: admin.removeLabelPolicyFont,
    organization: management.removeCustomLabelPolicyFont,
  },
]

/** What files a look would have, and whether everybody sees the same already. */
export type Look = {
  readonly has: (name: LookFile["name"]) => boolean
  readonly isShown: (name: LookFile["name"]) => boolean
}

export function useLook(place: PolicyOwner): Look | undefined {
  const { next, shown } = operationsOf(place)
  const wanted = useReadIfAllowed(next, {}, at(place))
  const holding = useReadIfAllowed(shown, {}, at(place))
  if (!wanted || !holding) return undefined
  const [after, before] = [policyIn(wanted), policyIn(holding)]
  return {
    has: (name) => fileIn(after, name) !== "",
    isShown: (name) => fileIn(after, name) === fileIn(before, name),
  }
}

/** Addresses end with the name of the file, which is that of its content. */
const fileIn = (policy: LabelPolicy, name: LookFile["name"]): string =>
  policy[name].split(/[/=]/).at(-1) ?? ""

/** What a file of a look holds, as an address that asks nobody; empty for none. */
export function useLookFile(place: PolicyOwner, kind: LookFileKind): string {
  const asked = { kind: `${kind}/_preview` }
  const file = useReadIfAllowed(operationsOf(place).file, asked, at(place))
  if (!file) return ""
  const binary = Array.from(file.data, (byte) => String.fromCharCode(byte)).join("")
  return `data:${file.contentType};base64,${btoa(binary)}`
}

/** Sends a file; it is there for a try until it is shown. */
export async function sendLookFile(place: PolicyOwner, kind: LookFileKind, file: File) {
  const data = new Uint8Array(await file.arrayBuffer())
  const { send } = operationsOf(place)
  await unless("policy.unchanged", call(send, { kind, file: { data } }, at(place)))
}

export const removeLookFile = (place: PolicyOwner, { instance, organization }: LookFile) =>
  call(place === undefined ? instance : organization, {}, at(place))

/** Shows to everybody what was tried. */
export const showLook = (place: PolicyOwner) => call(operationsOf(place).show, {}, at(place))
