export {
  type Action,
  call,
  queryOf,
  useAction,
  useDebounced,
  useRead,
  useReadIfAllowed,
  useReload,
  within,
} from "./call.ts"
export { callJson } from "./call-json.ts"
export { serverNow } from "./clock.ts"
export {
  Copyable,
  copied,
  Facts,
  type FactsProps,
  FactsSection,
  Section,
  ValueList,
} from "./detail.tsx"
export { draftPrefix } from "./draft-storage.ts"
export { type Crumb, Page } from "./frame.tsx"
export { Link, LinkButton, type LinkOptions } from "./link.tsx"
export { Led, May, type Needs } from "./may.tsx"
export type { AnyOf, MessageField, Operation } from "./message.ts"
export { notify } from "./notice.tsx"
export {
  type Organization,
  useBelongsTo,
  useChoose,
  useOrganization,
  useOrganizations,
  useSeesInstance,
} from "./organization.tsx"
export { useOrganizationCrumbs } from "./organization-crumbs.ts"
export { Part } from "./part.tsx"
export { usePermissions } from "./permissions.ts"
export { useShown } from "./position.ts"
export {
  type Changed,
  changedIn,
  isDenied,
  isHidden,
  isStale,
  isUndecided,
  type Refusal,
  refusalOf,
  refusedHere,
  undecided,
  unless,
} from "./refusal.ts"
export { RefusalAlert } from "./refusal-alert.tsx"
export { refusalTextAtField, wordsOf } from "./refusal-text.ts"
export { relativeTime } from "./relative-time.ts"
export { saveFile } from "./save-file.ts"
export { signedOut, signIn, upstreamOfServer, useSession } from "./session.ts"
export { has, language, languageName, type TextKey, t } from "./text.ts"
export { transport } from "./transport.ts"
export { useMay } from "./use-may.ts"
