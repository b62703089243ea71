import type { Timestamp } from "@bufbuild/protobuf/wkt"
import { t } from "../shell/index.ts"
import { Time } from "./time.tsx"

export type KeyDatesProps = {
  readonly added: Timestamp | undefined
  /** Absent for a key that has not signed in yet. */
  readonly used: Timestamp | undefined
}

/** When a passkey or security key was added and last used: what tells two of one name apart. */
export function KeyDates({ added, used }: KeyDatesProps) {
  return (
    <span className="quiet small key-dates">
      <span>
        {t("key.added")} <Time at={added} />
      </span>
      <span>
        {used ? (
          <>
            {t("key.used")} <Time at={used} />
          </>
        ) : (
          t("key.unused")
        )}
      </span>
    </span>
  )
}
