// Opens a store whose states must be folded again, and blocks in the middle until it is killed.
import { account, openFile } from "../account.ts"

let foldCount = 0
const hangingAccount = {
  ...account,
  revision: 2,
  evolve: {
    ...account.evolve,
    "account.opened": () => {
      if (++foldCount === 10) {
        process.stdout.write("in the middle\n")
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
      }
      return { status: "open", name: "half", email: null } as const
    },
  },
}

openFile(process.argv[2] ?? "", { aggregates: [hangingAccount] })
