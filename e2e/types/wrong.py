import typed
from typed import add, count, names, options, pick

add("1")  # wrong
add()  # wrong
add(1, c=2)  # wrong
text: str = add(1)  # wrong
pick("middle")  # wrong
pick("left", 2)  # wrong
names([1])  # wrong
flag: dict[str, str] = names(["a"])  # wrong
parts: list[str] = [i for i in count(3)]  # wrong
typed.nothing(1)  # wrong
add.submit("1")  # wrong
bad: str = add.submit(1).result()  # wrong
options(timeout="soon")  # wrong
add(1)
names(["fine"])
