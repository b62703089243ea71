import type { ReactNode } from "react"
import { EmptyState } from "../../kit/index.ts"
import { t } from "../shell/index.ts"

/** Lists that explain their purpose while they are empty. */
export type EmptyListFamily =
  | ("applications" | "authorizations" | "custom_roles" | "groups")
  | ("projects" | "roles" | "users")

type EmptyListProps = { readonly family: EmptyListFamily; readonly action: ReactNode }

/** The purpose of an empty list and the button for its first entry. */
export function EmptyList({ family, action }: EmptyListProps) {
  return (
    <EmptyState title={t(`${family}.empty.title`)} action={action}>
      {t(`${family}.empty.text`)}
    </EmptyState>
  )
}
