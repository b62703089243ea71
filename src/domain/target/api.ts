import { v2 as calls } from "./binding/v2-call.ts"
import { v2 as executions } from "./binding/v2-execution.ts"
import { v2 as keys } from "./binding/v2-key.ts"
import { v2 as targets } from "./binding/v2-target.ts"
import { v3alpha as olderExecutions } from "./binding/v3alpha-execution.ts"
import { v3alpha as olderTargets } from "./binding/v3alpha-target.ts"

/** The API operations of this module. */
export const shares = [targets, keys, executions, calls, olderTargets, olderExecutions] as const
