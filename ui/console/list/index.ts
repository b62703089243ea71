export { Badges, Clip } from "./badges.tsx"
export { Collection } from "./collection.tsx"
export { Credentials } from "./credentials.tsx"
export { dateRows } from "./date-facts.tsx"
export { Editor } from "./editor.tsx"
export { EmptyList } from "./empty-list.tsx"
export { FailedSignIns } from "./failed-sign-ins.tsx"
export { useFilterChips } from "./filter-chips.tsx"
export { Histories, HistoryButton, streamResource } from "./histories.tsx"
export { History } from "./history.tsx"
export { KeyDates, type KeyDatesProps } from "./key-dates.tsx"
export { LinkBox } from "./link-box.tsx"
export { type ListState, useCreating, useFilter, useListState } from "./list-state.ts"
export {
  actionColumn,
  type ListColumn,
  Listing,
  type ListQuery,
  paginationOf,
  SectionList,
  toPage,
} from "./listing.tsx"
export { Metadata } from "./metadata.tsx"
export { OneTimeSecret } from "./one-time-secret.tsx"
export { Picker } from "./picker.tsx"
export { formatOrigin, SignInOrigin } from "./sign-in-origin.tsx"
export { StateBadge } from "./state-badge.tsx"
export { Time } from "./time.tsx"
