export { agoOf } from "./ago.ts"
export {
  type Action,
  call,
  queryOf,
  useAction,
  useRead,
  useReadIfAllowed,
  useReload,
  useRested,
  within,
} from "./call.ts"
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
export { type Crumb, Page } from "./frame.tsx"
export { usePermissions } from "./held.ts"
export { Link, LinkButton, type LinkOptions } from "./link.tsx"
export { Led, May, type Needs } from "./may.tsx"
export { tell } from "./notice.tsx"
export {
  type Organization,
  useBelongsTo,
  useChoose,
  useOrganization,
  useOrganizations,
  useSeesInstance,
} from "./organization.tsx"
export { Part } from "./part.tsx"
export { useMay } from "./permission.ts"
export { readPlain } from "./plain.ts"
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
export { Refused } from "./refused.tsx"
export { saveFile } from "./save.ts"
export { signedOut, signIn, upstreamOfServer, useSession } from "./session.ts"
export { has, language, languageName, type TextKey, t } from "./text.ts"
export { transport } from "./transport.ts"
export { wordsAtField, wordsOf } from "./words.ts"
