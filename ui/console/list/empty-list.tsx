import type { ReactNode } from "react"
import { EmptyState } from "../../kit/index.ts"
import { t } from "../shell/index.ts"

/** Lists that say, while they are empty, what they are for. */
export type InvitingFamily =
  | ("applications" | "authorizations" | "custom_roles" | "groups")
  | ("projects" | "roles" | "users")

type EmptyListProps = { readonly family: InvitingFamily; readonly action: ReactNode }

/** What an empty list is for, and what creates its first entry. */
export function EmptyList({ family, action }: EmptyListProps) {
  return (
    <EmptyState title={t(`${family}.empty.title`)} action={action}>
      {t(`${family}.empty.text`)}
    </EmptyState>
  )
}
