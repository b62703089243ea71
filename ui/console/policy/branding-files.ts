import type { DescMethodUnary } from "@bufbuild/protobuf"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { AssetService } from "../../../src/gen/core/asset/v1/asset_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import type { LabelPolicy } from "../../../src/gen/core/policy/v1/policy_pb.ts"
import { call, ignoreError, type Operation, useReadIfAllowed } from "../shell/index.ts"
import { requirePolicy, withinOwner } from "./effective-policy.ts"
import type { PolicyOwner } from "./policy.ts"

const admin = AdminService.method
const management = ManagementService.method
const asset = AssetService.method

type Branding = { policy?: LabelPolicy | undefined }
type FileContent = { data: Uint8Array; contentType: string }

type BrandingOperations = {
  readonly next: Operation<object, Branding>
  readonly shown: Operation<object, Branding>
  readonly file: Operation<{ kind: string }, FileContent>
  readonly send: DescMethodUnary
  readonly show: DescMethodUnary
}

const instanceOperations: BrandingOperations = {
  next: admin.getPreviewLabelPolicy,
  shown: admin.getLabelPolicy,
  file: asset.getInstanceFile,
  send: asset.uploadInstanceFile,
  show: admin.activateLabelPolicy,
}

const organizationOperations: BrandingOperations = {
  next: management.getPreviewLabelPolicy,
  shown: management.getLabelPolicy,
  file: asset.getOrgFile,
  send: asset.uploadOrgFile,
  show: management.activateCustomLabelPolicy,
}

const operationsOf = (owner: PolicyOwner) =>
  owner === undefined ? instanceOperations : organizationOperations

export type BrandingFileKind = "logo" | "logo/dark" | "icon" | "icon/dark" | "font"

/** A branding file: its policy field and the operations to remove it. */
export type BrandingFile = {
  readonly name: "logoUrl" | "logoUrlDark" | "iconUrl" | "iconUrlDark" | "fontUrl"
  readonly kind: BrandingFileKind
  /** The background of its preview. */
  readonly background: "light" | "dark"
  /** Accepted file types, as in a file input. */
  readonly accept: string
  readonly instance: DescMethodUnary
  readonly organization: DescMethodUnary
}

const imageTypes = "image/png,image/jpeg,image/webp,image/gif,image/svg+xml"
const fontTypes = ".woff2,.woff,.ttf,.otf"

export const brandingFiles: readonly BrandingFile[] = [
  {
    name: "logoUrl",
    kind: "logo",
    background: "light",
    accept: imageTypes,
    instance: admin.removeLabelPolicyLogo,
    organization: management.removeCustomLabelPolicyLogo,
  },
  {
    name: "logoUrlDark",
    kind: "logo/dark",
    background: "dark",
    accept: imageTypes,
    instance: admin.removeLabelPolicyLogoDark,
    organization: management.removeCustomLabelPolicyLogoDark,
  },
  {
    name: "iconUrl",
    kind: "icon",
    background: "light",
    accept: imageTypes,
    instance: admin.removeLabelPolicyIcon,
    organization: management.removeCustomLabelPolicyIcon,
  },
  {
    name: "iconUrlDark",
    kind: "icon/dark",
    background: "dark",
    accept: imageTypes,
    instance: admin.removeLabelPolicyIconDark,
    organization: management.removeCustomLabelPolicyIconDark,
  },
  {
    name: "fontUrl",
    kind: "font",
    background: "light",
    accept: fontTypes,
    instance: admin.removeLabelPolicyFont,
    organization: management.removeCustomLabelPolicyFont,
  },
]

/** The files of the preview, and whether the active branding has the same. */
export type BrandingFileState = {
  readonly has: (name: BrandingFile["name"]) => boolean
  readonly isShown: (name: BrandingFile["name"]) => boolean
}

export function useBrandingFiles(owner: PolicyOwner): BrandingFileState | undefined {
  const { next, shown } = operationsOf(owner)
  const previewPolicy = useReadIfAllowed(next, {}, withinOwner(owner))
  const holding = useReadIfAllowed(shown, {}, withinOwner(owner))
  if (!previewPolicy || !holding) return undefined
  const [after, before] = [requirePolicy(previewPolicy), requirePolicy(holding)]
  return {
    has: (name) => fileNameIn(after, name) !== "",
    isShown: (name) => fileNameIn(after, name) === fileNameIn(before, name),
  }
}

/** URLs end with the content-based name of the file. */
const fileNameIn = (policy: LabelPolicy, name: BrandingFile["name"]): string =>
  policy[name].split(/[/=]/).at(-1) ?? ""

/** A branding file as a data URL; empty if there is none. */
export function useBrandingFile(owner: PolicyOwner, kind: BrandingFileKind): string {
  const request = { kind: `${kind}/_preview` }
  const file = useReadIfAllowed(operationsOf(owner).file, request, withinOwner(owner))
  if (!file) return ""
  const binary = Array.from(file.data, (byte) => String.fromCharCode(byte)).join("")
  return `data:${file.contentType};base64,${btoa(binary)}`
}

/** Uploads a file into the preview. */
export async function uploadBrandingFile(owner: PolicyOwner, kind: BrandingFileKind, file: File) {
  const data = new Uint8Array(await file.arrayBuffer())
  const { send } = operationsOf(owner)
  await ignoreError("policy.unchanged", call(send, { kind, file: { data } }, withinOwner(owner)))
}

export const removeBrandingFile = (owner: PolicyOwner, { instance, organization }: BrandingFile) =>
  call(owner === undefined ? instance : organization, {}, withinOwner(owner))

/** Activates the preview for all users. */
export const activateBranding = (owner: PolicyOwner) =>
  call(operationsOf(owner).show, {}, withinOwner(owner))
