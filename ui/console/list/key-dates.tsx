import type { Timestamp } from "@bufbuild/protobuf/wkt"
import { t } from "../shell/index.ts"
import { Time } from "./time.tsx"

export type KeyDatesProps = {
  readonly added: Timestamp | undefined
  /** Undefined for a key that has not been used yet. */
  readonly used: Timestamp | undefined
}

/**
 * When a passkey or security key was registered and last used, to distinguish keys with the same
 * name.
 */
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
