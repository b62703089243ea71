export {
  type Action,
  call,
  createQueryOptionsFor,
  organizationHeader,
  useAction,
  useDebounced,
  useRead,
  useReadIfAllowed,
  useReload,
} from "./call.ts"
export { callJson } from "./call-json.ts"
export { serverNow } from "./clock.ts"
export {
  Copyable,
  copyableFact,
  Facts,
  type FactsProps,
  FactsSection,
  Section,
  ValueList,
} from "./detail.tsx"
export { draftPrefix } from "./draft-storage.ts"
export { type Crumb, Page } from "./frame.tsx"
export { Link, LinkButton, type LinkOptions } from "./link.tsx"
export { IfPermitted, PermittedLink, type RequiredPermission } from "./may.tsx"
export type { AnyOf, MessageField, Operation } from "./message.ts"
export { notify } from "./notice.tsx"
export {
  type Organization,
  useCanReadInstance,
  useOrganization,
  useOrganizations,
  useSelectOrganization,
  useSelectOwner,
} from "./organization.tsx"
export { useOrganizationCrumbs } from "./organization-crumbs.ts"
export { PagePart } from "./part.tsx"
export { usePermissions } from "./permissions.ts"
export { useShownMessage } from "./position.ts"
export {
  type Changed,
  ignoreError,
  isDenied,
  isHidden,
  isStale,
  isUndecided,
  localError,
  parseChanged,
  type Refusal,
  refusalOf,
  undecidedError,
} from "./refusal.ts"
export { RefusalAlert } from "./refusal-alert.tsx"
export { refusalText, refusalTextAtField } from "./refusal-text.ts"
export { relativeTime } from "./relative-time.ts"
export { saveFile } from "./save-file.ts"
export { fetchUpstream, handleAccountRemoved, signIn, useSession } from "./session.ts"
export { has, language, languageName, type TextKey, t } from "./text.ts"
export { transport } from "./transport.ts"
export { useIsPermitted } from "./use-may.ts"
