import type { Timestamp } from "@bufbuild/protobuf/wkt"
import { t } from "../shell/index.ts"
import { Time } from "./time.tsx"

type Dates = {
  readonly creationDate?: Timestamp | undefined
  readonly changeDate?: Timestamp | undefined
}

/** Creation and last change of a resource as labeled values. */
export const dateRows = ({ creationDate, changeDate }: Dates = {}) =>
  [
    [t("field.created"), <Time key="created" at={creationDate} />],
    [t("field.changed"), <Time key="changed" at={changeDate} />],
  ] as const
